/** What a layer asks about, numbered in the one order that devices and services derive from its document. */
package neologue.candidates;
