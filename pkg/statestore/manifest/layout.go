package manifest

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Layout has every name that an object of a snapshot may have, relative to the cluster's directory.
// "*" stands for any name, "**" for any path. The pki files have the names of kOps: the older form
// has a file for each certificate and key, the newer form has keyset.yaml.
var Layout = []string{
	ClusterDocument,
	"nodegroups/*.yaml",
	"nodes/*.yaml",
	filesDir + "/**",
	"pki/issued/*/*.crt",
	"pki/issued/*/" + KeysetName,
	"pki/private/*/*.key",
	"pki/private/*/" + KeysetName,
}

const (
	ClusterDocument = "cluster.yaml" // the cluster document, which must exist
	Name            = "manifest"
	ObjectsDir      = "objects/sha256"
	// objects that only control plane nodes can read: see [publisher.Publication]
	ControlPlaneDir = "objects/control-plane"
	GenerationsDir  = "generations" // the record of each generation: see [publisher.Prune]
	PruneName       = "prune"       // says which prune runs now, or ran last
	KeysetName      = "keyset.yaml"
	filesDir        = "files" // the objects that fileAssets name in source: any names, any depth
)

// Apart are the names in a cluster's directory that belong to a store and to no snapshot.
var Apart = []string{Name, "objects", "assets", GenerationsDir, PruneName}

// IsObject reports whether an object of this name belongs to a snapshot.
func IsObject(name string) bool { return IsOurs(name) || IsKopsObject(name) }

// IsOurs reports the same for a store that is not kOps' own.
func IsOurs(name string) bool { return IsFile(name) || Matches(Layout, name) }

// IsFile reports whether an object is below files/. Its bytes stay in the store until they are
// read.
func IsFile(name string) bool { return strings.HasPrefix(name, filesDir+"/") }

// IsPrivate reports whether an object is a private key, which a node reads only if it uses it.
func IsPrivate(name string) bool { return strings.HasPrefix(name, PrivateDir) }

// Matches reports whether name matches one of the patterns of [path.Match].
func Matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

// LeadsToObjects reports whether a directory of this name may contain objects, at any depth.
func LeadsToObjects(dir string) bool {
	if dir == filesDir || IsFile(dir) {
		return true
	}
	depth := strings.Count(dir, "/") + 1
	for _, pattern := range slices.Concat(Layout, kopsLayout) {
		parts := strings.Split(pattern, "/")
		if len(parts) <= depth {
			continue
		}
		if ok, _ := path.Match(strings.Join(parts[:depth], "/"), dir); ok {
			return true
		}
	}
	return false
}

// NoteIgnored returns the note for a name that is not in the layout.
func NoteIgnored(name string, dir bool) string {
	switch {
	case dir:
		return fmt.Sprintf("%q is no directory of a cluster and was not read", name+"/")
	case strings.HasSuffix(name, ".yml") && IsObject(strings.TrimSuffix(name, "yml")+"yaml"):
		return fmt.Sprintf("%q was not read: name it %q", name, strings.TrimSuffix(name, "yml")+"yaml")
	}
	return fmt.Sprintf("%q is no document of a cluster and was not read", name)
}

// ValidName reports whether name is a path below its directory that has no control characters.
func ValidName(name string) bool {
	return fs.ValidPath(name) && name != "." &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// ValidCluster reports whether name can be the name of one directory.
func ValidCluster(name string) bool {
	return ValidName(name) && !strings.Contains(name, "/") && !strings.HasPrefix(name, ".")
}

// PrivateDir contains the private keys. A node reads from it only the keys that it uses.
const PrivateDir = "pki/private/"
