package https

import (
	"crypto/tls"
	"fmt"
	"strings"
	"sync"

	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/statestore/transfer"
)

// Settings name the files for requests to an https:// store: who this node is, and which servers it
// trusts. A client reads them again when they change, so that a renewal needs no restart of the
// agent. Each may be empty.
type Settings struct {
	CA        string // PEM of the CAs that are trusted instead of the machine's own
	Cert, Key string // PEM of the client certificate and its key
	TokenFile string // file with a bearer token
}

// reloaded is a client that is created again when one of its files changes.
type reloaded struct {
	mu     sync.Mutex
	client *transfer.Client
	made   [3]transfer.Stamp
}

func (r *reloaded) get(s Settings) (*transfer.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := [3]transfer.Stamp{transfer.StampOf(s.CA), transfer.StampOf(s.Cert), transfer.StampOf(s.Key)}
	if r.client != nil && r.made == now {
		return r.client, nil
	}
	settings, err := s.tls()
	if err != nil {
		return nil, err
	}
	if r.client != nil {
		r.client.Close()
	}
	r.client, r.made = transfer.NewClient(settings, home), now
	r.client.StoreCA = s.CA
	return r.client, nil
}

// tls reads the CA, the certificate and the key.
func (s Settings) tls() (*tls.Config, error) {
	authorities, err := transfer.Authorities(s.CA)
	if err != nil {
		return nil, err
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}
	if s.Cert != "" {
		cert, err := transfer.ReadSetting("storeCert", s.Cert)
		if err != nil {
			return nil, err
		}
		key, err := transfer.ReadSetting("storeKey", s.Key)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil { // the text of err shows nothing of the key
			return nil, fmt.Errorf("storeCert %s and storeKey %s are no pair: %w: put a certificate and its key "+
				"there, PEM each", s.Cert, s.Key, err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// token reads the bearer token each time, because it is small and often short-lived.
func (s Settings) token() (secret.Text, error) {
	if s.TokenFile == "" {
		return secret.Text{}, nil
	}
	data, err := transfer.ReadSetting("storeTokenFile", s.TokenFile)
	if err != nil {
		return secret.Text{}, err
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return secret.Text{}, fmt.Errorf("storeTokenFile %s has no token: put one there, in one line", s.TokenFile)
	}
	return secret.New(token), nil
}

// identity says how the node authenticates, for the person who must permit the access.
func (s Settings) identity() string {
	switch {
	case s.TokenFile != "" && s.Cert != "":
		return fmt.Sprintf("the agent sends the token in %s and the certificate in %s", s.TokenFile, s.Cert)
	case s.TokenFile != "":
		return fmt.Sprintf("the agent sends the token in %s", s.TokenFile)
	case s.Cert != "":
		return fmt.Sprintf("the agent sends the certificate in %s", s.Cert)
	}
	return "the agent sends no credentials: set storeTokenFile, or storeCert and storeKey, if the server requires " +
		"them"
}
