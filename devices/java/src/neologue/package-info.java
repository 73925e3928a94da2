/**
 * A device of neologue for Java and Android, without dependencies. An app uses {@link neologue.device}; the other packages
 * are what docs/protocol.md describes, each by itself.
 */
package neologue;
