/** Words as the protocol has them: code points, alphabets, forms of words, and lists of known words. */
package neologue.text;
