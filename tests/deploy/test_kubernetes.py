"""The Kustomize base, by the schemas of Kubernetes. It was never run on a cluster, and its README says so."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from wheels import ROOT

BASE = ROOT / "deploy" / "kubernetes"
KUSTOMIZATION: dict[str, Any] = yaml.safe_load((BASE / "kustomization.yaml").read_text("utf-8"))
VERSIONS = ("1.30", "1.37")
"""The oldest that it is meant for, and the newest whose schemas there are."""


def documents() -> list[dict[str, Any]]:
    texts = [(BASE / name).read_text("utf-8") for name in KUSTOMIZATION["resources"]]
    return [document for text in texts for document in yaml.safe_load_all(text)]


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [document for document in documents() if document["kind"] == kind]


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and the template of every pod."""
    for document in documents():
        spec = document.get("spec", {})
        template = spec.get("jobTemplate", {}).get("spec", spec).get("template")
        if template:
            yield document["metadata"]["name"], template


def test_all_files_are_part_of_it() -> None:
    assert {path.name for path in BASE.glob("*.yaml")} == {*KUSTOMIZATION["resources"], "kustomization.yaml"}
    kinds = {document["kind"] for document in documents()}
    assert {
        "Deployment",
        "Service",
        "Ingress",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "StatefulSet",
        "CronJob",
    } <= kinds


@pytest.mark.parametrize("version", VERSIONS)
def test_every_resource_keeps_to_the_schema_of_kubernetes(version: str) -> None:
    import kubernetes_validate  # builds 38 grammars for formats of strings, which no other test should wait for

    for document in documents():
        kubernetes_validate.validate(document, version, strict=True)
    (deployment,) = of_kind("Deployment")
    deployment["spec"]["replica"] = 3
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, version, strict=True)


@pytest.mark.parametrize(("name", "template"), list(pods()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_pod_meets_the_restricted_standard_and_has_limits(name: str, template: dict[str, Any]) -> None:
    pod = template["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"].keys() == {"cpu", "memory"}
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        claimed = {claim["metadata"]["name"] for claim in _claims(name)}
        assert mounted == {volume["name"] for volume in pod["volumes"]} | claimed


def _claims(name: str) -> list[dict[str, Any]]:
    owners = [document for document in of_kind("StatefulSet") if document["metadata"]["name"] == name]
    return [claim for owner in owners for claim in owner["spec"]["volumeClaimTemplates"]]


def test_secrets_are_referred_to_as_files_and_none_is_in_it() -> None:
    assert not of_kind("Secret")
    for _, template in pods():
        for container in template["spec"]["containers"]:
            assert not [variable for variable in container.get("env", ()) if "valueFrom" in variable]
            assert not container.get("envFrom")
    secrets = [
        volume["secret"] for _, template in pods() for volume in template["spec"]["volumes"] if "secret" in volume
    ]
    assert {secret["secretName"] for secret in secrets} == {"neologue-database", "neologue-keys"}
    assert {item["key"] for secret in secrets for item in secret["items"]} == {"url", "password", "wrapping-key"}


def test_who_selects_somebody_selects_pods_that_are_there() -> None:
    labels = {template["metadata"]["labels"]["app"] for _, template in pods()}
    selected = {document["spec"]["selector"]["app"] for document in of_kind("Service")}
    selected |= {document["spec"]["selector"]["matchLabels"]["app"] for document in of_kind("PodDisruptionBudget")}
    selected |= set(re.findall(r" app: (\w+)", (BASE / "network.yaml").read_text("utf-8")))
    assert selected == labels


def test_nobody_talks_to_anybody_unless_a_policy_says_so() -> None:
    policies = {document["metadata"]["name"]: document["spec"] for document in of_kind("NetworkPolicy")}
    assert policies["nothing-else"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_workers_are_several_and_never_all_gone() -> None:
    (deployment,), (budget,) = of_kind("Deployment"), of_kind("PodDisruptionBudget")
    assert deployment["spec"]["replicas"] > budget["spec"]["maxUnavailable"]
    (worker,) = deployment["spec"]["template"]["spec"]["containers"]
    assert worker["livenessProbe"]["httpGet"]["path"] == "/healthz", "a lost database must not end all workers"
    assert worker["readinessProbe"]["httpGet"]["path"] == "/readyz"
