package issue

import (
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/tasks"
)

// CertStatus is one certificate that the agent installed on the node, or has requested.
type CertStatus struct {
	Name      string      `json:"name"`
	CA        bool        `json:"ca,omitempty"` // whether it is the CA of the certificate with this name
	State     certs.State `json:"state"`
	Problem   string      `json:"problem,omitempty"` // what is wrong and what to do; "" if it is not wanted
	Source    string      `json:"source"`            // store, ca, kubernetes
	By        string      `json:"by,omitempty"`      // issuer, if it was issued to this node
	Path      string      `json:"path,omitempty"`
	Key       string      `json:"key,omitempty"` // path of the private key
	Subject   string      `json:"subject,omitempty"`
	Names     []string    `json:"names,omitempty"`
	Issuer    string      `json:"issuer,omitempty"`
	Serial    string      `json:"serial,omitempty"` // hex
	NotBefore time.Time   `json:"notBefore,omitzero"`
	NotAfter  time.Time   `json:"notAfter,omitzero"`
	RenewAt   time.Time   `json:"renewAt,omitzero"` // zero if the agent does not renew it
	Wanted    bool        `json:"wanted"`           // false if no document names it any more; it stays on the node
}

// The states that do not follow from the time alone.
const (
	CertMissing   certs.State = "missing"   // it is in the ledger, and its files are missing
	CertUnfit     certs.State = "unfit"     // its files do not match each other
	CertRequested certs.State = "requested" // requested, and not issued yet
)

// OK reports whether the certificate needs no action by a person.
func (c *CertStatus) OK() bool { return c.State == certs.Valid || c.State == certs.NeedsRenewal }

// List lists the certificates that the agent installed or has requested, from the ledger and the
// files. It does not read the store, and writes nothing. node is the name of the node, which
// spreads the renewals.
func List(opt host.Options, node string, now time.Time) ([]CertStatus, error) {
	files, err := host.OpenFiles(opt)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", opt.Root, err)
	}
	defer files.Close() // only for reading
	led := ledger.Load(files)
	if led.Newer != nil {
		return nil, led.Newer
	}
	if led.Unreadable {
		return nil, errors.New("the ledger, which knows the certificates, can be read by root only: run it as root")
	}
	out := []CertStatus{}
	seen := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(led.Entries())) {
		e := led.Entries()[key]
		if e.Task == nil || e.Task.Kind != tasks.KindCertificates {
			continue
		}
		var set tasks.CertificateSet
		if err := json.Unmarshal(e.Task.Params, &set); err != nil {
			return nil, fmt.Errorf("read what the ledger says of %s: %w", key, err)
		}
		have, err := Read(files, set.Name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			have = nil // the installed files are checked in any case
		}
		seen[set.Name] = true
		rows, err := statusOf(files, set, have, node, now)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if rows[i].Wanted = !e.Released; e.Released {
				rows[i].Problem = "" // nobody has to do anything
			}
		}
		out = append(out, rows...)
	}
	return requested(files, out, seen)
}

// statusOf returns the status of a set's certificate and of its CA.
func statusOf(
	r ledger.Reader, set tasks.CertificateSet, have *issued, node string, now time.Time,
) ([]CertStatus, error) {
	leaf := CertStatus{Name: set.Label(), Source: cmp.Or(set.Source, extras.SourceStore)}
	text, err := installed(r, set)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("read the certificate %s: %w: run it as root", set.Label(), err)
	case err != nil:
		leaf.State, leaf.Problem = CertMissing, fmt.Sprintf("%v: the next pass installs it", err)
		return []CertStatus{leaf}, nil
	}
	leaf.Path, leaf.Key = text.at, text.keyAt
	chain, err := certs.Parse(text.cert)
	if err != nil {
		leaf.State, leaf.Problem = CertUnfit, "read "+text.at+": "+err.Error()
		return []CertStatus{leaf}, nil
	}
	life := certs.ValidityOf(chain[0])
	if have != nil && have.Cert == string(text.cert) {
		leaf.By = have.By
		if l, err := have.validity(node); err == nil {
			life = l
		}
	}
	leaf.fill(chain[0], life, now)
	if key, err := certs.ParseKey(text.key); err != nil || !certs.KeyMatches(key, chain[0]) {
		leaf.State, leaf.Problem = CertUnfit, text.keyAt+" is not its key: the next pass installs what belongs together"
	} else if have != nil && have.Pending != nil {
		leaf.Problem = fmt.Sprintf("its renewal waits for the request %s, since %s", have.Pending.Name,
			Date(have.Pending.Since))
	}
	out := []CertStatus{leaf}
	if all, err := certs.Parse(text.ca); err == nil {
		for _, c := range all {
			ca := CertStatus{Name: leaf.Name, CA: true, Source: leaf.Source, Path: text.caAt}
			if leaf.Source == extras.SourceCA {
				ca.Source = extras.SourceStore // the CA itself comes from the store
			}
			ca.fill(c, certs.ValidityOf(c), now)
			out = append(out, ca)
		}
	}
	return out, nil
}

// fill sets the fields that come from a certificate.
func (c *CertStatus) fill(cert *x509.Certificate, life certs.Validity, now time.Time) {
	c.Subject, c.Names, c.Issuer, c.Serial = certs.Subject(cert), certs.Names(cert), cert.Issuer.String(),
		cert.SerialNumber.Text(16)
	c.NotBefore, c.NotAfter, c.RenewAt = life.NotBefore.UTC(), life.NotAfter.UTC(), life.RenewAt.UTC()
	if life.RenewAt.IsZero() {
		c.RenewAt = time.Time{}
	}
	c.State = life.StateAt(now)
	switch {
	case c.State == certs.NotYet:
		c.Problem = "is the clock right?"
	case c.OK():
	case c.CA:
		c.Problem = "put its successor into the store, and trust both for a while"
	case life.RenewAt.IsZero():
		c.Problem = "the agent cannot renew it: issue another and publish it"
	default:
		c.Problem = "its renewal is late: the agent's log says why"
	}
}

// onNode has the files of a set as they are on the node.
type onNode struct {
	ca, cert        []byte
	key             secret.Text
	caAt, at, keyAt string
}

func installed(r ledger.Reader, set tasks.CertificateSet) (out onNode, err error) {
	if set.Dir == "" {
		return inKubeconfig(r, set.Kubeconfig.Path)
	}
	var key []byte
	for _, f := range []struct {
		to   *[]byte
		at   *string
		name string
	}{{&out.ca, &out.caAt, set.CA.Name}, {&out.cert, &out.at, set.Cert.Name}, {&key, &out.keyAt, set.Key.Name}} {
		*f.at = path.Join(set.Dir, f.name)
		if *f.to, err = r.ReadFile(*f.at); err != nil {
			return out, err
		}
	}
	out.key = secret.Of(key)
	return out, nil
}

// inKubeconfig reads the certificates from a kubeconfig that the agent wrote.
func inKubeconfig(r ledger.Reader, file string) (onNode, error) {
	out := onNode{caAt: file, at: file, keyAt: file}
	text, err := r.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "-data: ")
		data, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			continue
		}
		switch name {
		case "certificate-authority":
			out.ca = data
		case "client-certificate":
			out.cert = data
		case "client-key":
			out.key = secret.Of(data)
		}
	}
	return out, err
}

// requested adds the certificates that were requested and are not issued yet.
func requested(r ledger.Reader, out []CertStatus, seen map[string]bool) ([]CertStatus, error) {
	names, err := listIssued(r)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		s, err := Read(r, name)
		if seen[name] || err != nil || s == nil || s.Pending == nil || s.Cert != "" {
			continue
		}
		out = append(out, CertStatus{Name: name, State: CertRequested, Source: s.Source, By: s.By, Wanted: true,
			Problem: fmt.Sprintf("the request %s waits since %s", s.Pending.Name, Date(s.Pending.Since))})
	}
	return out, nil
}
