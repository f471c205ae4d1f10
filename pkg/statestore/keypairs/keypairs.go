// Package keypairs reads the certificates and keys of a cluster from its pki files. The files have
// the names of kOps: one for each certificate and key, or keyset.yaml.
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

// Keypair is a certificate, its key and the CA that signed it, each in PEM. A part that the store
// does not have is empty.
type Keypair struct {
	CA, Cert []byte
	Key      secret.Text
	Origin   string // name of the object with the certificate
}

// Authorities are the names of the keysets with the cluster's own CA. kOps renamed "ca" to
// "kubernetes-ca" in 1.22, and still reads "ca" (upup/pkg/fi/vfs_keystorereader.go). This CA also
// signs calico-client for etcd, as kOps before 1.20 had it.
var Authorities = []string{"kubernetes-ca", "ca"}

// ownAuthority is the id, among a name's issued certificates, of a CA that is only for this name.
const ownAuthority = "ca"

// Of returns the keypairs of a cluster by name. If a name has several certificates, Of takes the
// one that keyset.yaml calls primary, or else the one with the highest id, which is the youngest.
// The CA of a keypair is the first that exists of these: pki/issued/<name>/ca.crt; the CA in the
// store that signed the certificate, directly or through the intermediate certificates behind it;
// the CA of the cluster. For a CA it is the CA itself with the other certificates that are trusted
// during its rotation.
//
// The map is valid even if Of returns an error. The error names each keyset that could not be read
// and was left out. Its text shows no content.
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

// keyset has the certificates and keys that the store has under one name.
type keyset struct {
	items map[string]*keyItem
	// declared reports whether keyset.yaml lists the items. Then only keyset.yaml decides, and
	// first is the id of its primary.
	declared bool
	first    string
	own      []byte // content of ca.crt
	broken   bool   // keyset.yaml cannot be read, and the older files with it may be out of date
}

// keyItem is one certificate and its key.
type keyItem struct {
	id         string
	cert       []byte
	key        secret.Text
	origin     string // name of the object with the certificate
	distrusted bool
}

// keysets sorts the pki files by name. The private keyset.yaml replaces the issued one, because it
// is read later and has the keys too.
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
			// so that every program can read the installed file
			set.put(file, object, certs.StripBOM(objects[object]))
		}
	}
	return sets, errors.Join(errs...)
}

// put adds the file of a certificate or a key. For each id the certificate comes first, because
// "issued" sorts before "private".
func (s *keyset) put(file, origin string, data []byte) {
	kind := path.Ext(file)
	id := strings.TrimSuffix(file, kind)
	if id == ownAuthority && kind == ".crt" {
		s.own = data
	}
	item := s.items[id]
	switch {
	case s.declared: // only keys may come from files of their own then
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

// primary returns the certificate to use, or nil if there is none.
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

// trusted lists the items with a certificate, the youngest first. A ca.crt is among them only if
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

// bundle returns the trusted certificates of a CA. During the rotation of a CA these are all that
// keyset.yaml lists and does not distrust, as in kOps. Without keyset.yaml the store cannot say
// which are distrusted, so only the primary is trusted.
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

// authority returns the CA of the set's certificate. If no CA in the store signed the certificate,
// it returns the cluster's CA. The code that installs the files finds and reports that they do not
// match.
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

// parseCertificates returns the certificates of a PEM text that can be parsed.
func parseCertificates(text []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, cert)
		}
	}
	return all
}

// compareIDs orders ids by age. kOps makes them from the time, as long decimal numbers. A number
// counts as younger than a name.
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
