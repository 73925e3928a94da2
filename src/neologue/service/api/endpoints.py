"""All endpoints for operators and analysts, from which the routes and the OpenAPI description are made."""

from neologue.service.api.deployment_api import DEPLOYMENT_ENDPOINTS
from neologue.service.api.key_api import KEY_ENDPOINTS
from neologue.service.api.ledger_api import LEDGER_ENDPOINTS
from neologue.service.api.operator_api import CAMPAIGN_ENDPOINTS

ENDPOINTS = (*KEY_ENDPOINTS, *CAMPAIGN_ENDPOINTS, *LEDGER_ENDPOINTS, *DEPLOYMENT_ENDPOINTS)
