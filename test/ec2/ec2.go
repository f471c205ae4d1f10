// Package ec2 answers tests as EC2's Query API and Service Quotas do: the few actions of the agent
// and, with a VPC, the actions of programs that give addresses to pods. It refuses a request that
// is not signed for EC2, but does not verify the signature.
package ec2

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Server is the API of one region. Set its fields before it serves.
type Server struct {
	Region string
	Checks map[string]bool // of interfaces, whether the source/destination check is on
	Tables []Table
	Late   int      // answers that still say of checks what was before the last change
	Quota  int      // of routes in a table; 0: there is none
	Denied []string // actions that the caller may not
	Status int      // of every answer, without a word; 0: the service is well
	VPC    *VPC     // of whose instances it answers; nil: it knows the above alone

	mu      sync.Mutex
	asked   []url.Values
	changed bool
}

// Table is a route table.
type Table struct {
	ID, VPC    string
	Subnets    []string
	Main       bool
	Routes     int // of IPv4, the local one among them
	Propagated int
}

// Asked returns the parameters of the calls since the last time.
func (s *Server) Asked() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.asked
	s.asked = nil
	return out
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if action := r.Header.Get("X-Amz-Target"); action != "" {
		s.quota(w, r, strings.TrimPrefix(action, "ServiceQuotasV20190624."))
		return
	}
	if err := r.ParseForm(); err != nil {
		fail(w, http.StatusBadRequest, "MalformedQueryString", err.Error())
		return
	}
	s.asked = append(s.asked, r.PostForm)
	action, form := r.PostForm.Get("Action"), r.PostForm
	signed := r.Header.Get("Authorization")
	switch {
	case s.Status != 0:
		w.WriteHeader(s.Status)
	case r.Header.Get("X-Amz-Date") == "" || !strings.HasPrefix(signed, "AWS4-HMAC-SHA256 Credential=") || !strings.Contains(signed, "/"+s.Region+"/ec2/aws4_request, SignedHeaders="):
		fail(w, http.StatusUnauthorized, "AuthFailure", "AWS was not able to validate the provided access credentials")
	case r.Method != http.MethodPost || form.Get("Version") != "2016-11-15":
		fail(w, http.StatusBadRequest, "InvalidAction", "The action "+action+" is not valid for this web service.")
	case slices.Contains(s.Denied, action):
		fail(w, http.StatusForbidden, "UnauthorizedOperation", "You are not authorized to perform this operation. User: arn:aws:sts::123456789012:assumed-role/nodes/i-0 is not authorized to perform: ec2:"+
			action+" because no identity-based policy allows the action. Encoded authorization failure message: "+strings.Repeat("QUJD", 100))
	case s.VPC != nil && s.VPC.answer(w, action, form):
	case action == "DescribeNetworkInterfaces":
		s.describe(w, form.Get("NetworkInterfaceId.1"))
	case action == "ModifyNetworkInterfaceAttribute":
		s.modify(w, form)
	case action == "DescribeRouteTables":
		s.tables(w, form)
	default:
		fail(w, http.StatusBadRequest, "InvalidAction", "The action "+action+" is not valid for this web service.")
	}
}

// quota answers as Service Quotas does.
// https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html
func (s *Server) quota(w http.ResponseWriter, r *http.Request, action string) {
	s.asked = append(s.asked, url.Values{"Action": {action}})
	var body struct{ ServiceCode, QuotaCode string }
	problem := func(status int, kind string) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"__type": "com.amazonaws.servicequotas#%s", "Message": "no"}`, kind)
	}
	switch err := json.NewDecoder(r.Body).Decode(&body); {
	case s.Status != 0:
		w.WriteHeader(s.Status)
	case slices.Contains(s.Denied, action):
		problem(http.StatusBadRequest, "AccessDeniedException")
	case err != nil || !strings.Contains(r.Header.Get("Authorization"), "/"+s.Region+"/servicequotas/aws4_request, SignedHeaders="):
		problem(http.StatusBadRequest, "InvalidSignatureException")
	case action != "GetServiceQuota" || body.ServiceCode != "vpc" || body.QuotaCode != "L-93826ACB" || s.Quota == 0:
		problem(http.StatusBadRequest, "NoSuchResourceException")
	default:
		_, _ = fmt.Fprintf(w, `{"Quota": {"QuotaCode": "L-93826ACB", "QuotaName": "Routes per route table", "ServiceCode": "vpc", "Unit": "None", "Value": %d.0}}`, s.Quota)
	}
}

func (s *Server) describe(w http.ResponseWriter, eni string) {
	check, ok := s.Checks[eni]
	if !ok {
		missing(w, eni)
		return
	}
	if s.changed && s.Late > 0 {
		s.Late--
		check = !check
	}
	say(w, "DescribeNetworkInterfaces", "<networkInterfaceSet><item><networkInterfaceId>%s</networkInterfaceId><status>in-use</status><sourceDestCheck>%t</sourceDestCheck><groupSet/></item></networkInterfaceSet>", eni, check)
}

func (s *Server) modify(w http.ResponseWriter, form url.Values) {
	eni, value := form.Get("NetworkInterfaceId"), form.Get("SourceDestCheck.Value")
	if _, ok := s.Checks[eni]; !ok {
		missing(w, eni)
		return
	}
	s.changed = s.changed || s.Checks[eni] != (value != "false")
	s.Checks[eni] = value != "false"
	say(w, "ModifyNetworkInterfaceAttribute", "<return>true</return>")
}

func (s *Server) tables(w http.ResponseWriter, form url.Values) {
	var items strings.Builder
	for _, t := range s.Tables {
		if !t.passes(form) {
			continue
		}
		fmt.Fprintf(&items, "<item><routeTableId>%s</routeTableId><vpcId>%s</vpcId><routeSet>", t.ID, t.VPC)
		for i := range t.Routes {
			fmt.Fprintf(&items, "<item><destinationCidrBlock>10.%d.%d.0/24</destinationCidrBlock><state>active</state><origin>CreateRoute</origin></item>", i/256, i%256)
		}
		for i := range t.Propagated {
			fmt.Fprintf(&items, "<item><destinationCidrBlock>172.16.%d.0/24</destinationCidrBlock><state>active</state><origin>EnableVgwRoutePropagation</origin></item>", i)
		}
		items.WriteString("<item><destinationIpv6CidrBlock>::/0</destinationIpv6CidrBlock><state>active</state><origin>CreateRoute</origin></item></routeSet></item>")
	}
	say(w, "DescribeRouteTables", "<routeTableSet>%s</routeTableSet>", items.String())
}

// passes says that a table passes all filters. A main table has no subnets of its own, though they
// use it.
func (t Table) passes(form url.Values) bool {
	for i := 1; form.Has(fmt.Sprintf("Filter.%d.Name", i)); i++ {
		value := form.Get(fmt.Sprintf("Filter.%d.Value.1", i))
		switch form.Get(fmt.Sprintf("Filter.%d.Name", i)) {
		case "association.subnet-id":
			if !slices.Contains(t.Subnets, value) {
				return false
			}
		case "vpc-id":
			if t.VPC != value {
				return false
			}
		case "association.main":
			if fmt.Sprint(t.Main) != value {
				return false
			}
		}
	}
	return true
}

func missing(w http.ResponseWriter, eni string) {
	fail(w, http.StatusBadRequest, "InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '"+eni+"' does not exist")
}

func say(w http.ResponseWriter, action, format string, args ...any) {
	_, _ = fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<%sResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>1</requestId>"+format+"</%sResponse>",
		append(append([]any{action}, args...), action)...) // a client that goes away is its own business
}

func fail(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>1</RequestID></Response>", code, message)
}
