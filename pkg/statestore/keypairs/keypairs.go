// Package keypairs reads the certificates and keys of a cluster from its pki files, as kOps names
// them: a file for each, or keyset.yaml.
package keypairs

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/statestore/manifest"
)

// Keypair is a certificate with its key and the CA that signed it, PEM each. What the store does
// not have is empty.
type Keypair struct {
	CA, Cert []byte
	Key      secret.Text
	Origin   string // the object that has the certificate
}

// Authorities are the keysets that hold the cluster's own CA, the newer name first: kOps renamed
// "ca" in 1.22 and reads it still (upup/pkg/fi/vfs_keystorereader.go). calico-client of etcd, as
// kOps before 1.20 had it, is signed by this CA.
var Authorities = []string{"kubernetes-ca", "ca"}

// ownAuthority, among a name's issued certificates, is the CA of this name alone.
const ownAuthority = "ca"

// Of puts the pki files of a cluster together, by name. Of several certificates the one that
// keyset.yaml calls primary is taken, or else the highest id, which is the youngest. The CA is
// pki/issued/<name>/ca.crt, or the one in the store that signed, over those behind the certificate
// or not, or that of the cluster; of a CA it is itself, with those that are trusted beside it.
//
// The map is good also beside an error, which names each keyset that could not be read and was left
// out; its text shows nothing of what they contain.
func Of(objects secret.Contents) (map[string]Keypair, error) {
	sets, err := keysets(objects)
	pairs := make(map[string]Keypair, len(sets))
	for name, set := range sets {
		item := set.primary()
		if item == nil {
			continue
		}
		pairs[name] = Keypair{CA: set.authority(sets), Cert: item.cert, Key: item.key, Origin: item.origin}
	}
	return pairs, err
}

// keyset is what the store has under one name.
type keyset struct {
	items map[string]*keyItem
	// declared says that keyset.yaml lists the items, which then decides alone; first is its
	// primary.
	declared bool
	first    string
	own      []byte // ca.crt
	broken   bool   // its keyset.yaml does not say what is right, and older files beside it may be wrong
}

// keyItem is one certificate and its key.
type keyItem struct {
	id         string
	cert       []byte
	key        secret.Text
	origin     string // of the certificate
	distrusted bool
}

// keysets sorts the pki files by name. The private keyset.yaml comes last, and over the issued one,
// because it has the keys too.
func keysets(objects map[string][]byte) (map[string]*keyset, error) {
	sets := map[string]*keyset{}
	var errs []error
	for _, object := range slices.Sorted(maps.Keys(objects)) {
		parts := strings.Split(object, "/")
		if len(parts) != 4 || parts[0] != "pki" {
			continue
		}
		name, file := parts[2], parts[3]
		set := sets[name]
		if set == nil {
			set = &keyset{items: map[string]*keyItem{}}
			sets[name] = set
		}
		if file == manifest.KeysetName {
			if err := set.declare(object, objects[object]); err != nil {
				errs = append(errs, err)
				set.broken = true
			}
		} else {
			set.put(file, object, certs.StripBOM(objects[object])) // so that all can read what is installed
		}
	}
	return sets, errors.Join(errs...)
}

// put takes one file of a certificate or a key. Of one id the certificate comes first, "issued"
// being before "private".
func (s *keyset) put(file, origin string, data []byte) {
	kind := path.Ext(file)
	id := strings.TrimSuffix(file, kind)
	if id == ownAuthority && kind == ".crt" {
		s.own = data
	}
	item := s.items[id]
	switch {
	case s.declared: // keyset.yaml may leave the keys to files, nothing else
		if item != nil && item.key.IsZero() && kind == ".key" {
			item.key = secret.Of(data)
		}
		return
	case item == nil:
		item = &keyItem{id: id}
		s.items[id] = item
	}
	if kind == ".crt" {
		item.cert, item.origin = data, origin
	} else {
		item.key = secret.Of(data)
	}
}

// primary is the certificate to use, nil if there is none.
func (s *keyset) primary() *keyItem {
	if s.broken {
		return nil
	}
	if item := s.items[s.first]; item != nil && item.cert != nil {
		return item
	}
	all := s.trusted()
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// trusted lists the items with a certificate, youngest first. A ca.crt is one of them only where
// there is no other.
func (s *keyset) trusted() []*keyItem {
	var all []*keyItem
	for _, item := range s.items {
		if item.cert != nil && !item.distrusted {
			all = append(all, item)
		}
	}
	slices.SortStableFunc(all, func(a, b *keyItem) int { return compareIDs(b.id, a.id) })
	if s.own != nil && len(all) > 1 {
		all = slices.DeleteFunc(all, func(item *keyItem) bool { return item.id == ownAuthority })
	}
	return all
}

// bundle is what to trust of a CA: while it is being changed, all that keyset.yaml has and does not
// distrust, as kOps does. A store without keyset.yaml cannot say what is distrusted, so there it is
// the primary alone.
func (s *keyset) bundle() []byte {
	first := s.primary()
	if first == nil {
		return nil
	}
	all := [][]byte{first.cert}
	if s.declared {
		for _, item := range s.trusted() {
			if item != first {
				all = append(all, item.cert)
			}
		}
	}
	var out bytes.Buffer
	for _, cert := range all {
		out.Write(cert)
		if !bytes.HasSuffix(cert, []byte("\n")) {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

// authority is the CA that goes with the set's certificate. Where none of the store signed it, it
// is the cluster's, so that whoever installs the files finds out and says so.
func (s *keyset) authority(sets map[string]*keyset) []byte {
	if s.own != nil {
		return s.own
	}
	leaf := parseCertificates(s.primary().cert)
	if len(leaf) > 0 && leaf[0].IsCA {
		return s.bundle()
	}
	var first []byte
	for _, name := range append(slices.Clone(Authorities), slices.Sorted(maps.Keys(sets))...) {
		set := sets[name]
		if set == nil || set == s {
			continue
		}
		bundle := set.bundle()
		if first == nil && slices.Contains(Authorities, name) {
			first = bundle
		}
		roots := parseCertificates(bundle)
		if len(leaf) > 0 && len(roots) > 0 && roots[0].IsCA && certs.SignedBy(leaf[0], roots, leaf[1:]...) != nil {
			return bundle
		}
	}
	return first
}

// parseCertificates returns those certificates of a PEM text that parse.
func parseCertificates(text []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, cert)
		}
	}
	return all
}

// compareIDs orders ids by age: kOps makes them from the time, as long decimal numbers. A number is
// younger than a name.
func compareIDs(a, b string) int {
	x, isX := new(big.Int).SetString(a, 10)
	y, isY := new(big.Int).SetString(b, 10)
	switch {
	case isX && isY:
		return x.Cmp(y)
	case isX:
		return 1
	case isY:
		return -1
	}
	return strings.Compare(a, b)
}
