package statestore

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/keypairs"
	"github.com/netwright/netwright/pkg/statestore/manifest"
)

// Complete returns an error that matches fs.ErrNotExist if the snapshot has no cluster document.
func (s *Snapshot) Complete() error {
	if !slices.ContainsFunc(manifest.ClusterDocuments, func(name string) bool { return s.Objects[name] != nil }) {
		return problem.DocumentMissing.Missing(
			"%s/%s is missing: write a document of kind Cluster there", s.Origin, manifest.ClusterDocument)
	}
	return nil
}

// FetchKeys reads the private objects of the keypairs that are named and that are still in
// s.Private, and adds them to s.Objects for [keypairs.Of]. No other goroutine may use the snapshot
// meanwhile. FetchKeys marks its errors as Fetch does, and may be retried.
func (s *Snapshot) FetchKeys(pairs ...string) error {
	var rest []blob.Named
	for i, object := range s.Private {
		keypair, _, _ := strings.Cut(strings.TrimPrefix(object.Name, manifest.PrivateDir), "/")
		if !slices.Contains(pairs, keypair) {
			rest = append(rest, object)
			continue
		}
		data, err := object.Bytes()
		if err != nil {
			s.Private = append(rest, s.Private[i:]...)
			return err
		}
		s.Objects[object.Name] = data
	}
	s.Private = rest
	if s.Seek == nil {
		return nil
	}
	for _, keypair := range pairs {
		if err := s.seekKeyset(manifest.PrivateDir + keypair + "/" + manifest.KeysetName); err != nil {
			return err
		}
	}
	for _, name := range keypairs.Authorities {
		if err := s.seekKeyset("pki/issued/" + name + "/" + manifest.KeysetName); err != nil {
			return err
		}
	}
	return nil
}

// seekKeyset reads a keyset that the store did not list. A keyset that does not exist is no error.
func (s *Snapshot) seekKeyset(name string) error {
	if s.Objects[name] != nil {
		return nil
	}
	data, err := s.Seek(name)
	switch {
	case err == nil:
		s.Objects[name] = data
		// the cache of the node finds its copy of a snapshot by the manifest
		s.Manifest = manifest.New(s.Cluster, s.Generation, s.Objects).Encode()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}
