/** How a device talks to a service: HTTP, or files that someone else carries. */
package neologue.transport;
