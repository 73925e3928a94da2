/** The wire: layer documents, invitations, credentials, successions of keys. */
package neologue.protocol;
