package kubeapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/netwright/netwright/test/pki"
)

// Kubelet is the credential of a node's kubelet that the Node authorizer accepts.
func (s *Server) Kubelet(node string) pki.Pair {
	s.t.Helper()
	return s.Authority.Client("system:node:"+node, "system:nodes")
}

// Token is a bearer token of a ServiceAccount, by the TokenRequest API. The account must exist.
func (s *Server) Token(namespace, account string) string {
	s.t.Helper()
	answer := s.Must(http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token",
		`{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}`)
	var request struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	if err := json.Unmarshal([]byte(answer), &request); err != nil || request.Status.Token == "" {
		s.t.Fatalf("asking for a token: %v in\n%s", err, answer)
	}
	return request.Status.Token
}

// Kubeconfig is the text of a kubeconfig with a client certificate, for programs that reach the
// server at endpoint: [Server.Endpoint] or [Server.Here].
func (s *Server) Kubeconfig(endpoint string, as pki.Pair) string {
	return s.kubeconfig(endpoint, fmt.Sprintf("client-certificate-data: %s\n    client-key-data: %s", encoded(as.Cert), encoded(as.Key)))
}

// TokenKubeconfig is the text of a kubeconfig whose bearer token is in a file.
func (s *Server) TokenKubeconfig(endpoint, tokenFile string) string {
	return s.kubeconfig(endpoint, "tokenFile: "+tokenFile)
}

func (s *Server) kubeconfig(endpoint, user string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: user
  user:
    %s
contexts:
- name: context
  context: {cluster: test, user: user}
current-context: context
`, endpoint, encoded(s.Authority.PEM), user)
}

// File writes a text into a file of this machine that exists until the test ends.
func (s *Server) File(text string) string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
