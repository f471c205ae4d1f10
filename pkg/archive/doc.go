// Package archive reads tar archives, uncompressed or compressed with gzip, zstd or xz, from a
// source that need not be trusted. It writes the wanted members to a [MemberWriter], and verifies
// the checksum of the archive. Begin with [Read].
package archive
