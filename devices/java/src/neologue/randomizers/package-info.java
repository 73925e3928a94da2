/** From the candidates that a device holds to the payload of its report, with probabilities in integers over 2^64. */
package neologue.randomizers;
