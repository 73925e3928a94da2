package neologue.text;

import java.util.Arrays;
import neologue.RefusalException;

/** The characters that words are made of, in order; symbol 0 is the end mark ⊥, characters are symbols 1 to n. */
public final class Alphabet {
    private final String text;
    private final int[] characters;

    /** The alphabet with these characters, which must be in order. */
    public Alphabet(String text) {
        this.text = text;
        characters = CodePoints.of(text);
        boolean usable = characters.length >= 2 && characters[0] != 0;
        for (int i = 1; i < characters.length; i++) {
            usable &= characters[i - 1] < characters[i];
        }
        if (!usable) {
            throw new RefusalException("the document describes no layer: its alphabet can't be used");
        }
    }

    /** The characters as one string. */
    public String text() {
        return text;
    }

    /** The number of characters, n. */
    public int characters() {
        return characters.length;
    }

    /** The number of symbols, ⊥ among them. */
    public int symbols() {
        return characters.length + 1;
    }

    /** The symbol of a character, or -1 if it is not in the alphabet. */
    public int symbol(int character) {
        int index = Arrays.binarySearch(characters, character);
        return index < 0 ? -1 : index + 1;
    }

    /** Whether all characters of a text are in the alphabet. */
    public boolean expresses(String text) {
        return text.codePoints().allMatch(character -> symbol(character) > 0);
    }

    /** Whether this is a word in NFC of 1 to `depth` characters of the alphabet, none of them white space. */
    public boolean spells(String word, int depth) {
        int length = CodePoints.length(word);
        return length >= 1
                && length <= depth
                && word.codePoints().allMatch(point -> symbol(point) > 0 && !CodePoints.isWhiteSpace(point))
                && CodePoints.normalise(word).equals(word);
    }
}
