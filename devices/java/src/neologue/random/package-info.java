/** Randomness: 64 bits at a time, and exact draws from them. */
package neologue.random;
