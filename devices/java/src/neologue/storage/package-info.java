/** What a device keeps: its diary, sealed, and its record of what it has answered and spent. */
package neologue.storage;
