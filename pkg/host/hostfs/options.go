package hostfs

import "go.uber.org/zap"

// Options says which files to open, and how.
type Options struct {
	// Root is put before every path: "/" (or "") for the running host, else a mounted image.
	Root string
	// FollowLinks are the symbolic links that somebody has stated: see [Reader.Follow].
	FollowLinks []string
	// AnyLinks says that the paths are a person's own, who has just typed them: what is written
	// there may be behind any link.
	AnyLinks bool
	// Verify makes [Files.Sum] read every byte: stamps are not believed.
	Verify bool
	// Stamps answers for files whose metadata is as it was recorded; nil: none.
	Stamps Stamps
	// Log gets one line per operation that writes. Nil: none.
	Log *zap.Logger
}
