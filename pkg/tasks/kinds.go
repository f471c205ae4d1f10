package tasks

// TOMLKey is one key in a TOML file that is somebody else's: every other byte stays.
type TOMLKey struct {
	Meta
	Path  string
	Table []string // {"plugins", "io.containerd.grpc.v1.cri", "cni"}
	Key   string
	Value any // string, bool, int64 or []string
}
