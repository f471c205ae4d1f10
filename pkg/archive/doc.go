// Package archive reads tar archives, plain or packed with gzip, zstd or xz, from a source that may
// be anybody's: it hands the wanted members to a [MemberWriter], and says whether the archive has
// the checksum that it must have. Begin reading at [Read].
package archive
