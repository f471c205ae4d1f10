package keypairs

import (
	"cmp"
	"encoding/base64"
	"fmt"

	"go.yaml.in/yaml/v2"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/secret"
)

// kopsKeyset has the fields of keyset.yaml that we use (kOps: pkg/apis/kops/v1alpha2/keyset.go).
type kopsKeyset struct {
	Kind string `yaml:"kind"`
	Spec struct {
		PrimaryID  string `yaml:"primaryId"` // v1alpha2
		PrimaryID3 string `yaml:"primaryID"` // v1alpha3
		Keys       []struct {
			ID                string      `yaml:"id"`
			DistrustTimestamp string      `yaml:"distrustTimestamp"`
			PublicMaterial    string      `yaml:"publicMaterial"`  // base64 of PEM
			PrivateMaterial   secret.Text `yaml:"privateMaterial"` // base64 of PEM
		} `yaml:"keys"`
	} `yaml:"spec"`
}

// declare replaces all items of the set with those of keyset.yaml. It leaves the set's own CA. No
// error shows any of the text, which contains keys.
func (s *keyset) declare(path string, data []byte) error {
	var doc kopsKeyset
	if err := yaml.Unmarshal(data, &doc); err != nil {
		var line int
		if _, none := fmt.Sscanf(err.Error(), "yaml: line %d:", &line); none == nil {
			return fmt.Errorf("%s:%d: it does not parse as a Keyset of kOps: export it again", path, line)
		}
		return fmt.Errorf("%s: it does not parse as a Keyset of kOps: export it again", path)
	}
	if doc.Kind != "Keyset" {
		return fmt.Errorf("%s: kind is %q, Keyset is expected: export it again", path, doc.Kind)
	}
	items := make(map[string]*keyItem, len(doc.Spec.Keys))
	for i, key := range doc.Spec.Keys {
		cert, err := base64.StdEncoding.DecodeString(key.PublicMaterial)
		if err != nil {
			return fmt.Errorf("%s: publicMaterial of key %d is no base64: export it again: %w", path, i+1, err)
		}
		private, err := base64.StdEncoding.DecodeString(key.PrivateMaterial.Reveal())
		if err != nil {
			return fmt.Errorf("%s: privateMaterial of key %d is no base64: export it again", path, i+1)
		}
		item := &keyItem{id: key.ID, origin: path, distrusted: key.DistrustTimestamp != ""}
		if len(cert) > 0 {
			item.cert = certs.StripBOM(cert)
		}
		if len(private) > 0 {
			item.key = secret.Of(certs.StripBOM(private))
		} else if had := s.items[key.ID]; had != nil { // the key may be in a file of its own
			item.key = had.key
		}
		items[key.ID] = item
	}
	s.items, s.declared, s.first = items, true, cmp.Or(doc.Spec.PrimaryID, doc.Spec.PrimaryID3)
	return nil
}
