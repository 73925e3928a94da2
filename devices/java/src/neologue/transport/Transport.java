package neologue.transport;

import neologue.LaterException;

/** What carries requests to a service and answers back: HTTP, or files that someone else carries. */
public interface Transport {
    /** The most bytes of an answer that is no document. */
    int SMALL_ANSWER = 1 << 16;

    /** An answer with at most so many bytes; or a LaterException, also if the request may have arrived. */
    Response request(String method, String path, byte[] body, String type, int most);
}
