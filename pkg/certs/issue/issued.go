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

// Dir has a file for each certificate that is issued to this node: key, certificate and CA in
// one, so that they are of one piece at any moment. From there the tasks install them where they
// are wanted.
const Dir = ledger.Dir + "/issued"

// issued is what such a file has.
type issued struct {
	Name    string    `json:"name"`
	Source  string    `json:"source"`
	By      string    `json:"by"`      // who issued it, in words
	Request string    `json:"request"` // digest of what was asked for
	Issued  time.Time `json:"issued"`
	// Machine is the one that made the key; "": an earlier release did not say.
	Machine string `json:"machine,omitempty"`
	CA      string `json:"ca"` // PEM, as the other two
	Cert    string `json:"cert"`
	// FirstCA is what CA was when it was issued, if that is another: the API's servers have others.
	FirstCA string `json:"firstCA,omitempty"`
	// RefusedCA is a former CA of the API's servers whose answer was refused; "": none was.
	RefusedCA string `json:"refusedCA,omitempty"`
	// Key is in the file alone: see issuedFile.
	Key secret.Text `json:"-"`
	// Superseded is when the CA was first seen to have another certificate than the one that
	// signed.
	Superseded time.Time `json:"superseded,omitzero"`
	Pending    *pending  `json:"pending,omitempty"`
}

// pending is a request that was made of somebody else. It is on the disk before anybody is asked:
// whoever asks again after a kill asks the same, with the same key.
type pending struct {
	Name    string    `json:"name"` // of the CertificateSigningRequest
	Request string    `json:"request"`
	Since   time.Time `json:"since"`
	Machine string    `json:"machine,omitempty"` // as of the certificate
	CSR     string    `json:"csr"`
	// CA is that of the API's servers when it was made, PEM; "": not known.
	CA string `json:"ca,omitempty"`
	// Key is in the file alone.
	Key secret.Text `json:"-"`
}

// issuedFile is the file: the one place where the keys are written out. It is root's alone.
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

// Read reads one; nil if there is none. One that does not read is an error, and issued anew
// by whoever may write.
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

// listIssued names those that there are.
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

// save writes it, durably and whole.
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

// pair is what the model gets.
func (s *issued) pair() model.Keypair {
	if s == nil || s.Cert == "" {
		return model.Keypair{}
	}
	return model.Keypair{CA: []byte(s.CA), Cert: []byte(s.Cert), Key: s.Key, Origin: s.By}
}

// validity is how long it lives, and when this node renews it.
func (s *issued) validity(node string) (certs.Validity, error) {
	all, err := certs.Parse([]byte(s.Cert))
	if err != nil {
		return certs.Validity{}, fmt.Errorf("read the issued certificate %s: %w", s.Name, err)
	}
	key, err := certs.ParseKey(s.Key)
	if err != nil || !certs.KeyMatches(key, all[0]) {
		return certs.Validity{}, fmt.Errorf("read the issued certificate %s: its key is not there, or not its own",
			s.Name)
	}
	l := certs.ValidityOf(all[0])
	l.RenewAt = certs.RenewAt(all[0], s.Issued, node+"/"+s.Name)
	if !s.Superseded.IsZero() {
		// Not at once: what runs from it is restarted, and every node of the cluster sees the new
		// CA within minutes.
		spread := min(24*time.Hour, l.NotAfter.Sub(l.NotBefore)/10)
		if soon := s.Superseded.Add(time.Duration(certs.Share(node+"/"+
			s.Name) * float64(spread))); soon.Before(l.RenewAt) {
			l.RenewAt = soon
		}
	}
	return l, nil
}
