package kube

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// DefaultKubeconfig is where the agent looks for a kubeconfig of its own.
const DefaultKubeconfig = "/etc/netwright/kubeconfig"

// Kubeconfig is a file that clients are made of, again whenever it has changed, or the file of CAs
// that it names: tokens and certificates stand in it as often as beside it, and an agent lives
// longer than they do. Its zero value with a Path works. It is safe for several goroutines.
type Kubeconfig struct {
	Path    string
	Options Options

	mu     sync.Mutex
	client *Client // nil: none could be made yet
	made   [sha256.Size]byte
}

// Client is the client of the files as they are now. Errors are those of [Open]. While they cannot
// be read, as in the middle of being written, that of the last ones holds; when the kubeconfig is
// gone, none does.
func (k *Kubeconfig) Client() (*Client, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := os.ReadFile(k.Path) // before it is opened: what changes in between is seen the next time
	sum := sha256.Sum256(text)
	if err == nil && k.client != nil && sum == k.made && k.current() {
		return k.client, nil
	}
	client, err := Open(k.Path, k.Options)
	switch {
	case err == nil:
		k.client, k.made = client, sum
	case errors.Is(err, fs.ErrNotExist):
		k.client = nil
	case k.client != nil:
		return k.client, nil
	}
	return client, err
}

// current reports that the client's CAs are still what their file has. One that cannot be read, or
// is empty, as in the middle of being written, says nothing else. The other files of a kubeconfig
// (certificate, key, token) client-go reads again.
func (k *Kubeconfig) current() bool {
	if k.client.authoritiesFile == "" {
		return true
	}
	text, err := os.ReadFile(k.client.authoritiesFile)
	return err != nil || len(text) == 0 || bytes.Equal(text, k.client.authorities)
}

// ErrCredentialProgram says that the credentials come from a program, which a dry run does not
// start.
var ErrCredentialProgram = errors.New("its credentials come from a program, which a dry run does not start")

// Open reads a kubeconfig and makes a client of its current context. It asks nobody. A file that is
// not there yet, as on a node that has not joined, is [fs.ErrNotExist].
func Open(kubeconfig string, o Options) (*Client, error) {
	config, err := (&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}).Load()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the kubeconfig %s: %w: put one there, or name another in agent.yaml (kubeconfig)",
			kubeconfig, fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("read the kubeconfig %s: %w: let the agent's user read it", kubeconfig, fs.ErrPermission)
	case err != nil:
		return nil, fmt.Errorf("read the kubeconfig %s: it is none: %w: `kubectl --kubeconfig %s config view` must "+
			"show it", kubeconfig, err, kubeconfig)
	}
	how, err := clientcmd.NewDefaultClientConfig(*config, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig %s: %w: it needs a current-context with a cluster and a user",
			kubeconfig, err)
	}
	if how.ExecProvider != nil && o.OnlyFiles {
		return nil, fmt.Errorf("use the kubeconfig %s: %w", kubeconfig, ErrCredentialProgram)
	}
	loaded := rest.CopyConfig(how) // how itself keeps its files, which are read again when they change
	err = rest.LoadTLSFiles(loaded)
	if text := loaded.CAData; err == nil && len(text) > 0 && !x509.NewCertPool().AppendCertsFromPEM(text) {
		err = errors.New("there is no certificate in its certificate-authority")
	}
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig %s: %w: look at its certificates and keys", kubeconfig, err)
	}
	how.UserAgent = "netwright/" + o.Version
	how.QPS, how.Burst = -1, 0 // the server's own priority and fairness decides, by 429 and Retry-After
	how.Wrap(func(way http.RoundTripper) http.RoundTripper { return bounded{way} })
	how.ContentType = runtime.ContentTypeJSON
	if o.OwnConnections && how.ExecProvider == nil {
		if err := ownTransport(how); err != nil {
			return nil, fmt.Errorf("use the kubeconfig %s: %w: look at its certificates and keys", kubeconfig, err)
		}
	}
	return connect(Client{kubeconfig: kubeconfig, authorities: loaded.CAData, authoritiesFile: loaded.CAFile}, how)
}

// ownTransport makes a transport, which client-go would take from among those that it has.
func ownTransport(how *rest.Config) error {
	settings, err := rest.TLSConfigFor(how)
	if err != nil {
		return err
	}
	if !strings.Contains(how.Host, "://") {
		how.Host = "https://" + how.Host
	}
	proxy := how.Proxy // the kubeconfig's proxy-url
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	how.Transport = &http.Transport{
		Proxy: proxy, TLSClientConfig: settings, DisableCompression: true, IdleConnTimeout: ownIdle,
	}
	how.TLSClientConfig = rest.TLSClientConfig{}
	return nil
}
