package manifest

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Layout is every name that an object of a snapshot may have, relative to the cluster's directory;
// a star is any name, two at the end are any path. The pki files have kOps' names, older (a file
// for each certificate and key) and newer (keyset.yaml).
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
	ClusterDocument = "cluster.yaml" // the one document that must be there
	Name            = "manifest"
	ObjectsDir      = "objects/sha256"
	ControlPlaneDir = "objects/control-plane" // what nodes of other roles cannot read: see [publisher.Publication]
	GenerationsDir  = "generations"           // a record of each generation: see [publisher.Prune]
	PruneName       = "prune"                 // who prunes, or did last
	KeysetName      = "keyset.yaml"
	filesDir        = "files" // what fileAssets name by source: any names, any depth
)

// Apart are the names beside the documents that are part of a store and of no snapshot.
var Apart = []string{Name, "objects", "assets", GenerationsDir, PruneName}

// IsObject reports whether name belongs into a snapshot.
func IsObject(name string) bool { return IsOurs(name) || IsKopsObject(name) }

// IsOurs does so where kOps' names mean nothing.
func IsOurs(name string) bool { return IsFile(name) || Matches(Layout, name) }

// IsFile reports whether an object is below files/: its bytes stay in the store.
func IsFile(name string) bool { return strings.HasPrefix(name, filesDir+"/") }

// IsPrivate reports whether only the node that uses an object reads it, by itself.
func IsPrivate(name string) bool { return strings.HasPrefix(name, PrivateDir) }

// Matches reports whether one of the patterns of [path.Match] is that of a name.
func Matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

// LeadsToObjects reports whether a directory of this name may hold objects, at any depth.
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

// NoteIgnored is the note for a name that is not in the layout.
func NoteIgnored(name string, dir bool) string {
	switch {
	case dir:
		return fmt.Sprintf("%q is no directory of a cluster and was not read", name+"/")
	case strings.HasSuffix(name, ".yml") && IsObject(strings.TrimSuffix(name, "yml")+"yaml"):
		return fmt.Sprintf("%q was not read: name it %q", name, strings.TrimSuffix(name, "yml")+"yaml")
	}
	return fmt.Sprintf("%q is no document of a cluster and was not read", name)
}

// ValidName reports whether name stays below the directory that it is relative to, and prints as
// what it is.
func ValidName(name string) bool {
	return fs.ValidPath(name) && name != "." &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// ValidCluster reports whether name can be one directory's.
func ValidCluster(name string) bool {
	return ValidName(name) && !strings.Contains(name, "/") && !strings.HasPrefix(name, ".")
}

// PrivateDir holds what only the node that uses it reads, one by one.
const PrivateDir = "pki/private/"
