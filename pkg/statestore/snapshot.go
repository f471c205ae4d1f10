package statestore

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

// complete refuses a snapshot without the cluster's document. at is what stands before its name.
func (s *Snapshot) complete(at string) error {
	if _, ok := s.Objects[clusterDocument]; !ok {
		return fmt.Errorf("%s%s is missing: write a document of kind Cluster there: %w", at, clusterDocument, fs.ErrNotExist)
	}
	return nil
}

// Bring reads the private objects of these keypairs, as far as they were left in the store, into Objects, for [Keypairs]. The caller has the
// snapshot for itself. Its error is marked as those of Fetch are.
func (s *Snapshot) Bring(keypairs ...string) error {
	var rest []host.Named
	for i, object := range s.Private {
		keypair, _, _ := strings.Cut(strings.TrimPrefix(object.Name, privateDir), "/")
		if !slices.Contains(keypairs, keypair) {
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
	return nil
}
