// Package imds serves EC2's instance metadata to tests, by the second version of the protocol
// alone: it refuses a request without a token. It does not count hops. To test a container without
// the host's network, use a service that does not answer.
package imds

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Server is a metadata service. The zero value has no metadata. Set the fields before it serves.
type Server struct {
	// Values are by path below /latest/: "meta-data/mac". Directories are made of them.
	Values map[string]string
	// Live makes further values, as they are at a request; nil: none.
	Live func() map[string]string
	// Refuse answers instead of the service where it returns a status other than 0.
	Refuse func(r *http.Request) int

	mu     sync.Mutex
	tokens int
	asked  []string
}

// Asked lists the requests since the last call, "PUT api/token" first.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.asked
	s.asked = nil
	return out
}

// Expire makes every token invalid that the server gave.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens++
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, below := strings.CutPrefix(r.URL.Path, "/latest/")
	s.asked = append(s.asked, r.Method+" "+path)
	token := "token-" + strconv.Itoa(s.tokens)
	if s.Refuse != nil {
		if status := s.Refuse(r); status != 0 {
			w.WriteHeader(status)
			return
		}
	}
	switch {
	case r.Header.Get("X-Forwarded-For") != "" || !below:
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodPut && path == "api/token":
		if _, err := strconv.Atoi(r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds")); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("X-aws-ec2-metadata-token-ttl-seconds", r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds"))
		_, _ = w.Write([]byte(token)) // a client that goes away is its own business
	case r.Method != http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Header.Get("X-aws-ec2-metadata-token") != token:
		w.WriteHeader(http.StatusUnauthorized)
	default:
		body, ok := s.value(path)
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(body))
	}
}

// value is an item, or the names in a directory, of which those that are directories too end in a
// slash.
func (s *Server) value(path string) (string, bool) {
	values := s.Values
	if s.Live != nil {
		values = s.Live() // a fresh one each time
		maps.Copy(values, s.Values)
	}
	if v, ok := values[path]; ok {
		return v, true
	}
	var names []string
	for item := range values {
		if rest, ok := strings.CutPrefix(item, strings.TrimSuffix(path, "/")+"/"); ok {
			name, _, deeper := strings.Cut(rest, "/")
			if deeper {
				name += "/"
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, "\n"), len(names) > 0
}

// Instance returns the values of an m5.large with two interfaces, tags and user-data.
func Instance(userData string) map[string]string {
	const macs = "meta-data/network/interfaces/macs/"
	out := map[string]string{
		"dynamic/instance-identity/document": `{"accountId": "123456789012", "availabilityZone": "eu-central-1b", "instanceId": "i-0123456789abcdef0",
  "instanceType": "m5.large", "privateIp": "10.77.0.20", "region": "eu-central-1", "version": "2017-09-30"}`,
		"meta-data/instance-id":                 "i-0123456789abcdef0",
		"meta-data/instance-type":               "m5.large",
		"meta-data/ami-id":                      "ami-0123456789abcdef0",
		"meta-data/hostname":                    "ip-10-77-0-20.eu-central-1.compute.internal",
		"meta-data/local-hostname":              "ip-10-77-0-20.eu-central-1.compute.internal",
		"meta-data/local-ipv4":                  "10.77.0.20",
		"meta-data/mac":                         "02:00:00:00:00:01",
		"meta-data/placement/availability-zone": "eu-central-1b",
		"meta-data/placement/region":            "eu-central-1",
		"meta-data/tags/instance/Name":          "worker",
		"meta-data/tags/instance/team":          "network",
	}
	if userData != "" {
		out["user-data"] = userData
	}
	for mac, items := range map[string]map[string]string{
		"02:00:00:00:00:01": {"device-number": "0", "interface-id": "eni-1", "local-ipv4s": "10.77.0.20\n10.77.0.21", "ipv6s": "fd00:77::20", "ipv4-prefix": "10.77.0.64/28",
			"security-group-ids": "sg-1\nsg-2", "owner-id": "123456789012", "subnet-ipv6-cidr-blocks": "fd00:77::/64"},
		"02:00:00:00:00:02": {"device-number": "1", "interface-id": "eni-2", "local-ipv4s": "10.77.0.30", "security-group-ids": "sg-1"},
	} {
		for name, value := range items {
			out[macs+mac+"/"+name] = value
		}
		out[macs+mac+"/subnet-id"], out[macs+mac+"/vpc-id"] = "subnet-1", "vpc-1"
		out[macs+mac+"/subnet-ipv4-cidr-block"], out[macs+mac+"/vpc-ipv4-cidr-blocks"] = "10.77.0.0/24", "10.77.0.0/16\n100.64.0.0/16"
	}
	return out
}
