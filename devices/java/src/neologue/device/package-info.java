/**
 * What an app embeds: a {@link neologue.device.Device} that notes what is typed, talks to a service, and keeps its owner's
 * limits.
 */
package neologue.device;
