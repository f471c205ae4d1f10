package tasks

import (
	"encoding/base64"
	"fmt"
	"io/fs"
)

// Kubeconfig is a client identity in one file, for a component that talks to the Kubernetes API.
// The file contains certificate, key and CA, so they always change together.
type Kubeconfig struct {
	Path   string
	Server string // https://api.internal.example.com
	Mode   fs.FileMode
}

// text returns the content of the file.
// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
func (k *Kubeconfig) text(t CertificateSet) []byte {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: %q
    certificate-authority-data: %s
users:
- name: local
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: local
  context: {cluster: local, user: local}
current-context: local
`, k.Server, b64(t.CA.PEM), b64(t.Cert.PEM), b64(t.Key.PEM))
}
