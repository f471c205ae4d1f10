package issue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/secret"
)

// Dir has one file for each certificate that is issued to this node. The file contains the key, the
// certificate and the CA, so that they always match. Tasks install them from there.
const Dir = ledger.Dir + "/issued"

// issued is the content of such a file.
type issued struct {
	Name    string    `json:"name"`
	Source  string    `json:"source"`
	By      string    `json:"by"`      // names the issuer
	Request string    `json:"request"` // digest of the request
	Issued  time.Time `json:"issued"`
	// Machine is the machine-id of the machine that made the key; "" in a file of an earlier
	// release.
	Machine string `json:"machine,omitempty"`
	CA      string `json:"ca"` // PEM, as Cert is
	Cert    string `json:"cert"`
	// FirstCA is the value of CA when the certificate was issued; "" if CA has not changed since.
	FirstCA string `json:"firstCA,omitempty"`
	// RefusedCA is a former CA of the API servers, whose certificate was refused; "" if there is
	// none.
	RefusedCA string `json:"refusedCA,omitempty"`
	// Key is written only by issuedFile.
	Key secret.Text `json:"-"`
	// Superseded is when the node first saw that the CA has another certificate than the one that
	// signed.
	Superseded time.Time `json:"superseded,omitzero"`
	Pending    *pending  `json:"pending,omitempty"`
}

// pending is a request to Kubernetes. It is on the disk before it is sent, so that after a kill the
// agent sends the same request with the same key.
type pending struct {
	Name    string    `json:"name"` // of the CertificateSigningRequest
	Request string    `json:"request"`
	Since   time.Time `json:"since"`
	Machine string    `json:"machine,omitempty"` // as in issued
	CSR     string    `json:"csr"`
	// CA is the CA of the API servers when the request was made, in PEM; "" if unknown.
	CA string `json:"ca,omitempty"`
	// Key is written only by pendingFile.
	Key secret.Text `json:"-"`
}

// issuedFile is the form of the file. It is the only place where the keys are written. Only root
// can read it.
type issuedFile struct {
	issued
	Key     string       `json:"key"`
	Pending *pendingFile `json:"pending,omitempty"`
}

type pendingFile struct {
	pending
	Key string `json:"key"`
}

func (s *issued) file() issuedFile {
	f := issuedFile{issued: *s, Key: s.Key.Reveal()}
	if p := s.Pending; p != nil {
		f.Pending = &pendingFile{*p, p.Key.Reveal()}
	}
	return f
}

func (f issuedFile) content() *issued {
	s := f.issued
	s.Key = secret.New(f.Key)
	if f.Pending != nil {
		s.Pending = &f.Pending.pending
		s.Pending.Key = secret.New(f.Pending.Key)
	}
	return &s
}

// Read reads the file of an issued certificate; it returns nil if there is none. A file that cannot
// be decoded is an error, and the next pass that may write issues the certificate again.
func Read(r ledger.Reader, name string) (*issued, error) {
	file := Dir + "/" + name + ".json"
	data, err := r.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the issued certificate %s: %w", name, err)
	}
	var f issuedFile
	if err := json.Unmarshal(data, &f); err != nil || f.Name != name {
		return nil, fmt.Errorf("read the issued certificate %s: %s is damaged: it is issued anew", name, file)
	}
	return f.content(), nil
}

// listIssued returns the names of the issued certificates.
func listIssued(r ledger.Reader) ([]string, error) {
	files, err := r.ReadDir(Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the issued certificates: %w", err)
	}
	var names []string
	for _, file := range files {
		if name, ok := strings.CutSuffix(file, ".json"); ok && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names, nil
}

// save writes the file. After a crash the file is the new or the old one, whole.
func (s *issued) save(ctx context.Context, h *host.Host) error {
	data, err := json.MarshalIndent(s.file(), "", " ")
	for _, dir := range []string{ledger.Dir, Dir} {
		if err == nil {
			err = h.Files.Mkdir(dir, 0o700, 0, 0)
		}
	}
	if err == nil {
		err = h.Files.WriteFile(ctx, Dir+"/"+s.Name+".json", append(data, '\n'), hostfs.FileSpec{Mode: 0o600})
	}
	if err != nil {
		return fmt.Errorf("keep the certificate %s: %w", s.Name, err)
	}
	return nil
}

// pair returns the keypair for the model.
func (s *issued) pair() model.Keypair {
	if s == nil || s.Cert == "" {
		return model.Keypair{}
	}
	return model.Keypair{CA: []byte(s.CA), Cert: []byte(s.Cert), Key: s.Key, Origin: s.By}
}

// validity returns the validity of the certificate and the time at which this node renews it.
func (s *issued) validity(node string) (certs.Validity, error) {
	all, err := certs.Parse([]byte(s.Cert))
	if err != nil {
		return certs.Validity{}, fmt.Errorf("read the issued certificate %s: %w", s.Name, err)
	}
	key, err := certs.ParseKey(s.Key)
	if err != nil || !certs.KeyMatches(key, all[0]) {
		return certs.Validity{}, fmt.Errorf("read the issued certificate %s: its key is missing, or belongs to "+
			"another certificate",
			s.Name)
	}
	l := certs.ValidityOf(all[0])
	l.RenewAt = certs.RenewAt(all[0], s.Issued, node+"/"+s.Name)
	if !s.Superseded.IsZero() {
		// Not at once: a renewal restarts the programs that use the certificate, and every node of
		// the cluster sees the new CA within minutes.
		spread := min(24*time.Hour, l.NotAfter.Sub(l.NotBefore)/10)
		if soon := s.Superseded.Add(time.Duration(certs.Share(node+"/"+
			s.Name) * float64(spread))); soon.Before(l.RenewAt) {
			l.RenewAt = soon
		}
	}
	return l, nil
}
