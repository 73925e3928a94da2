/** Votes under masks: a device's part in a group whose sum alone can be read; docs/secure-aggregation.md has the rules. */
package neologue.masking;
