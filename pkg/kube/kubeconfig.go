package kube

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/connrotation"

	"github.com/netwright/netwright/pkg/blob"
)

// DefaultKubeconfig is the default path of the agent's own kubeconfig.
const DefaultKubeconfig = "/etc/netwright/kubeconfig"

// Kubeconfig makes a client from a kubeconfig file, and a new one when the file or its CA file
// changes: tokens and certificates are often in the kubeconfig itself and are renewed while the
// agent runs. The zero value with a Path is ready for use. It is safe for concurrent use.
type Kubeconfig struct {
	Path    string
	Options Options

	mu     sync.Mutex
	client *Client // nil if none could be made yet
	made   [sha256.Size]byte
}

// Client returns a client for the present content of the files. Its errors are those of [Open]. If
// the files cannot be read, for example because a program is writing them, it returns the last
// client. If the kubeconfig does not exist, it returns no client.
func (k *Kubeconfig) Client() (*Client, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := read(k.Path)
	sum := sha256.Sum256(text)
	if err == nil && k.client != nil && sum == k.made && k.current() {
		return k.client, nil
	}
	var client *Client
	if err == nil {
		client, err = open(k.Path, text, k.Options)
	}
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

// current reports whether the CA file has not changed. A file that cannot be read or is empty, as
// while a program writes it, counts as unchanged. client-go reads the other files of a kubeconfig
// (certificate, key, token) again by itself.
func (k *Kubeconfig) current() bool {
	if k.client.authoritiesFile == "" {
		return true
	}
	text, err := blob.ReadFile(k.client.authoritiesFile)
	return err != nil || len(text) == 0 || bytes.Equal(text, k.client.authorities)
}

// ErrCredentialProgram is the error for credentials from a program, which a dry run does not start.
var ErrCredentialProgram = errors.New("its credentials come from a program, which a dry run does not start")

// Open makes a client from the current context of a kubeconfig. It sends no request. If the file
// does not exist, as on a node that has not joined, the error matches [fs.ErrNotExist].
func Open(kubeconfig string, o Options) (*Client, error) {
	text, err := read(kubeconfig)
	if err != nil {
		return nil, err
	}
	return open(kubeconfig, text, o)
}

// read reads a kubeconfig. client-go would wait for the writer of a pipe.
func read(kubeconfig string) ([]byte, error) {
	text, err := blob.ReadFile(kubeconfig)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the kubeconfig %s: %w: put one there, or name another in agent.yaml (kubeconfig)",
			kubeconfig, fs.ErrNotExist) //nolint:house wrap it is a file
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("read the kubeconfig %s: %w: let the agent's user read it", kubeconfig, fs.ErrPermission)
	case err != nil:
		return nil, noKubeconfig(kubeconfig, err)
	}
	return text, nil
}

func noKubeconfig(kubeconfig string, err error) error {
	return fmt.Errorf("read the kubeconfig %s: the file is not a kubeconfig: %w: `kubectl --kubeconfig %s config view` "+
		"must show it", kubeconfig, err, kubeconfig)
}

// open makes a client from the text of a kubeconfig. Relative paths in it begin in its directory.
func open(kubeconfig string, text []byte, o Options) (*Client, error) {
	config, err := clientcmd.Load(text)
	if err != nil {
		return nil, noKubeconfig(kubeconfig, err)
	}
	dir, err := filepath.Abs(filepath.Dir(kubeconfig))
	if err == nil {
		err = clientcmd.ResolvePaths(clientcmd.GetConfigFileReferences(config), dir)
	}
	if err != nil {
		return nil, fmt.Errorf("find the files of the kubeconfig %s: %w", kubeconfig, err)
	}
	how, err := clientcmd.NewDefaultClientConfig(*config, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig %s: %w: it needs a current-context with a cluster and a user",
			kubeconfig, err)
	}
	if how.ExecProvider != nil && o.OnlyFiles {
		return nil, fmt.Errorf("use the kubeconfig %s: %w", kubeconfig, ErrCredentialProgram)
	}
	loaded := rest.CopyConfig(how) // how must refer to the files, which client-go reads again when they change
	err = rest.LoadTLSFiles(loaded)
	if text := loaded.CAData; err == nil && len(text) > 0 && !x509.NewCertPool().AppendCertsFromPEM(text) {
		err = errors.New("there is no certificate in its certificate-authority")
	}
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig %s: %w: look at its certificates and keys", kubeconfig, err)
	}
	how.UserAgent = "netwright/" + o.Version
	// no limit by the client: the server limits by priority and fairness, with 429 and Retry-After
	how.QPS, how.Burst = -1, 0
	how.Wrap(func(way http.RoundTripper) http.RoundTripper { return bounded{way} })
	how.ContentType = runtime.ContentTypeJSON
	c := Client{kubeconfig: kubeconfig, authorities: loaded.CAData, authoritiesFile: loaded.CAFile,
		dialer: connrotation.NewDialer((&net.Dialer{Timeout: answerTime}).DialContext)}
	how.Dial = c.dialer.DialContext
	if o.OwnConnections && how.ExecProvider == nil {
		if err := ownTransport(how); err != nil {
			return nil, fmt.Errorf("use the kubeconfig %s: %w: look at its certificates and keys", kubeconfig, err)
		}
	}
	return connect(c, how)
}

// ownTransport sets a new transport. client-go would otherwise share an existing one.
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
