package statestore

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
	clusterDocument,
	"nodegroups/*.yaml",
	"nodes/*.yaml",
	filesDir + "/**",
	"pki/issued/*/*.crt",
	"pki/issued/*/" + keysetName,
	"pki/private/*/*.key",
	"pki/private/*/" + keysetName,
}

const (
	clusterDocument = "cluster.yaml" // the one document that must be there
	manifestName    = "manifest"
	objectsDir      = "objects/sha256"
	controlPlaneDir = "objects/control-plane" // what nodes of other roles cannot read: see [Publication]
	generationsDir  = "generations"           // a record of each generation: see [Prune]
	pruneName       = "prune"                 // who prunes, or did last
	keysetName      = "keyset.yaml"
	filesDir        = "files" // what fileAssets name by source: any names, any depth
)

// apart are the names beside the documents that are part of a store and of no snapshot.
var apart = []string{manifestName, "objects", "assets", generationsDir, pruneName}

// isObject tells that name belongs into a snapshot.
func isObject(name string) bool { return isOurs(name) || isKopsObject(name) }

// isOurs does so where kOps' names mean nothing.
func isOurs(name string) bool { return isFile(name) || matches(Layout, name) }

// isFile tells that an object is below files/: its bytes stay in the store.
func isFile(name string) bool { return strings.HasPrefix(name, filesDir+"/") }

// isPrivate tells that only the node that uses an object reads it, by itself.
func isPrivate(name string) bool { return strings.HasPrefix(name, privateDir) }

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

// leadsToObjects tells that a directory of this name may hold objects, at any depth.
func leadsToObjects(dir string) bool {
	if dir == filesDir || isFile(dir) {
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

// noteIgnored is the note for a name that is not in the layout.
func noteIgnored(name string, dir bool) string {
	switch {
	case dir:
		return fmt.Sprintf("%q is no directory of a cluster and was not read", name+"/")
	case strings.HasSuffix(name, ".yml") && isObject(strings.TrimSuffix(name, "yml")+"yaml"):
		return fmt.Sprintf("%q was not read: name it %q", name, strings.TrimSuffix(name, "yml")+"yaml")
	}
	return fmt.Sprintf("%q is no document of a cluster and was not read", name)
}

// validName tells that name stays below the directory that it is relative to, and prints as what it
// is.
func validName(name string) bool {
	return fs.ValidPath(name) && name != "." &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// validCluster tells that name can be one directory's.
func validCluster(name string) bool {
	return validName(name) && !strings.Contains(name, "/") && !strings.HasPrefix(name, ".")
}
