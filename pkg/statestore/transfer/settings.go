package transfer

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/netwright/netwright/pkg/blob"
)

// maxSetting is the maximum size of the file of a setting in bytes. All CAs of a machine are a
// quarter of it.
const maxSetting = 1 << 20

// ReadSetting reads the file that a setting of the agent names.
func ReadSetting(setting, path string) ([]byte, error) {
	f, err := blob.Open(path)
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err
		}
		return nil, fmt.Errorf("%s %s: %w: put it there, and let the agent's user read it", setting, path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSetting+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", setting, path, err)
	case len(data) > maxSetting:
		return nil, fmt.Errorf("%s %s has more than %d bytes: name the right file", setting, path, maxSetting)
	}
	return data, nil
}

// Authorities returns the CAs of the file that storeCA names, which replace the machine's own; nil
// if it names none.
func Authorities(storeCA string) (*x509.CertPool, error) {
	if storeCA == "" {
		return nil, nil
	}
	data, err := ReadSetting("storeCA", storeCA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("storeCA %s has no certificate: put the PEM of the CA there that signed the server's",
			storeCA)
	}
	return pool, nil
}
