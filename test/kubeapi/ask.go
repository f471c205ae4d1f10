package kubeapi

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/netwright/netwright/test/pki"
)

// client speaks HTTP to the server as the owner of a certificate. It knows nothing of the agent's
// own client.
func (s *Server) client(as pki.Pair) *http.Client {
	s.t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(s.Authority.PEM))
	pair, err := tls.X509KeyPair([]byte(as.Cert), []byte(as.Key))
	if err != nil {
		s.t.Fatalf("reading the certificate of a client: %v", err)
	}
	return &http.Client{Timeout: patience, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}, DisableKeepAlives: true,
	}}
}

// Try sends a request as the cluster's administrator. A PATCH is a merge patch. The method APPLY is
// a server-side apply.
func (s *Server) Try(method, path, body string) (code int, answer string, err error) {
	kind := "application/json"
	switch method {
	case http.MethodPatch:
		kind = "application/merge-patch+json"
	case "APPLY":
		method, kind, path = http.MethodPatch, "application/apply-patch+yaml", path+"?fieldManager=test&force=true"
	}
	request, err := http.NewRequest(method, s.Here+path, strings.NewReader(body))
	if err != nil {
		return 0, "", fmt.Errorf("asking the API: %w", err)
	}
	request.Header.Set("Content-Type", kind)
	response, err := s.admin.Do(request)
	if err != nil {
		return 0, "", fmt.Errorf("asking the API: %w", err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	return response.StatusCode, string(all), err
}

// Must is [Server.Try] for a request that must succeed. If the server says that it is not ready to
// store objects of a new kind, Must repeats the request.
func (s *Server) Must(method, path, body string) string {
	s.t.Helper()
	code, answer, err := s.Try(method, path, body)
	for end := time.Now().Add(patience); code == http.StatusTooManyRequests && time.Now().Before(end); {
		time.Sleep(time.Second)
		code, answer, err = s.Try(method, path, body)
	}
	if err != nil || code >= http.StatusBadRequest {
		s.t.Fatalf("%s %s: %d %v\n%s", method, path, code, err, answer)
	}
	return answer
}

// Send patches an object as the owner of a certificate. The patch must succeed.
func (s *Server) Send(as pki.Pair, kind types.PatchType, path, patch string) {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodPatch, s.Here+path, strings.NewReader(patch))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", string(kind))
	response, err := s.client(as).Do(request)
	if err != nil {
		s.t.Fatalf("patching %s: %v", path, err)
	}
	defer response.Body.Close()
	if answer, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("patching %s with %s: %d %s %v", path, patch, response.StatusCode, answer, err)
	}
}

// Apply applies manifests as kubectl apply --server-side does. The manifests are YAML documents
// between lines of three dashes.
func (s *Server) Apply(manifests string) {
	s.t.Helper()
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		path, err := pathOf(document)
		if err != nil {
			s.t.Fatalf("%v in\n%s", err, document)
		}
		s.Must("APPLY", path, document)
	}
}

// Get decodes an object into a value.
func (s *Server) Get(path string, into any) {
	s.t.Helper()
	if err := json.NewDecoder(bytes.NewBufferString(s.Must(http.MethodGet, path, ""))).Decode(into); err != nil {
		s.t.Fatalf("GET %s: %v", path, err)
	}
}

// resources are the names in paths of the kinds that tests apply.
var resources = map[string]string{
	"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "ConfigMap": "configmaps", "CustomResourceDefinition": "customresourcedefinitions",
	"EndpointSlice": "endpointslices", "Namespace": "namespaces", "Node": "nodes", "Pod": "pods", "Role": "roles", "RoleBinding": "rolebindings", "Secret": "secrets", "Service": "services", "ServiceAccount": "serviceaccounts",
}

var errKind = errors.New("no kind that tests apply")

// pathOf is where a manifest's object is in the API.
func pathOf(document string) (string, error) {
	version, kind, namespace, name := field(document, "apiVersion"), field(document, "kind"), field(document, "  namespace"), field(document, "  name")
	resource, known := resources[kind]
	if !known || name == "" {
		return "", fmt.Errorf("%w: %q %q", errKind, kind, name)
	}
	path := "/apis/" + version
	if !strings.Contains(version, "/") {
		path = "/api/" + version
	}
	if namespace != "" && kind != "Namespace" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + resource + "/" + name, nil
}

// field is the first scalar of a name at this indentation.
func field(document, name string) string {
	for line := range strings.Lines(document) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}
