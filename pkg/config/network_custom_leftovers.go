package config

// CustomLeftovers is what the network leaves when it goes, each thing by its exact name and mark. Which marks are refused, because they
// could be somebody else's, is for the model to know. The types have the fields of the marks of package tasks, which say what they mean.
type CustomLeftovers struct {
	Units     []string        `json:"units,omitempty"`
	Moved     []CustomMoved   `json:"moved,omitempty"`
	Programs  []CustomProgram `json:"programs,omitempty"`
	Rules     []CustomRule    `json:"rules,omitempty"`
	Routes    []CustomRoute   `json:"routes,omitempty"`
	IPVS      []CustomIPVS    `json:"ipvs,omitempty"`
	Chains    []CustomChain   `json:"chains,omitempty"` // of iptables
	Tables    []CustomTable   `json:"tables,omitempty"` // of nft
	IPSets    []string        `json:"ipsets,omitempty"`
	XFRM      []CustomXFRM    `json:"xfrm,omitempty"`
	OVS       []CustomOVS     `json:"ovs,omitempty"`
	Links     []CustomLink    `json:"links,omitempty"`
	Pins      []string        `json:"pins,omitempty"`
	Sysctls   []CustomValue   `json:"sysctls,omitempty"`
	Lines     []CustomLine    `json:"lines,omitempty"`
	Files     []string        `json:"files,omitempty"`
	LocalRule bool            `json:"localRule,omitempty"` // it moves the rule for local addresses
	Others    []string        `json:"others,omitempty"`    // in words: what no agent takes away
}

// CustomRule marks policy rules.
type CustomRule struct {
	Priority int    `json:"priority,omitempty"`
	Mark     uint32 `json:"mark,omitempty"`
	Mask     uint32 `json:"mask,omitempty"`
	Table    int    `json:"table,omitempty"`
	Last     int    `json:"last,omitempty"`
	IIF      string `json:"iif,omitempty"`
	From     bool   `json:"from,omitempty"`
	Pods     bool   `json:"pods,omitempty"`
}

// CustomRoute marks routes.
type CustomRoute struct {
	Table    int    `json:"table,omitempty"`
	Last     int    `json:"last,omitempty"`
	Protocol int    `json:"protocol,omitempty"`
	Link     string `json:"link,omitempty"`
	Pods     bool   `json:"pods,omitempty"`
	Via      bool   `json:"via,omitempty"`
	Type     string `json:"type,omitempty"`
}

// CustomChain marks chains of iptables, or rules in chains of others.
type CustomChain struct {
	Table   string `json:"table,omitempty"`
	Chain   string `json:"chain,omitempty"`
	Comment string `json:"comment,omitempty"`
	Target  string `json:"target,omitempty"`
	In      string `json:"in,omitempty"`
	Out     string `json:"out,omitempty"`
	Set     string `json:"set,omitempty"`
}

// CustomTable marks tables of nft.
type CustomTable struct {
	Family string `json:"family"`
	Name   string `json:"name"`
}

// CustomLink marks links.
type CustomLink struct {
	Name   string `json:"name"`
	Kind   string `json:"kind,omitempty"`
	Master string `json:"master,omitempty"`
	MAC    string `json:"mac,omitempty"`
	Alias  string `json:"alias,omitempty"`
	Pods   bool   `json:"pods,omitempty"`
}

// CustomMoved marks a link to which it moves the machine's addresses.
type CustomMoved struct {
	Link string `json:"link"`
	Kind string `json:"kind,omitempty"`
}

// CustomProgram marks eBPF programs that are attached without a pin.
type CustomProgram struct {
	Hook string `json:"hook"`
	Name string `json:"name"`
}

// CustomIPVS marks services of IPVS.
type CustomIPVS struct {
	Link   string `json:"link,omitempty"`
	Pods   bool   `json:"pods,omitempty"`
	Unless string `json:"unless,omitempty"`
}

// CustomXFRM marks policies and states of IPsec.
type CustomXFRM struct {
	Mark     uint32 `json:"mark,omitempty"`
	Mask     uint32 `json:"mask,omitempty"`
	ReqID    int    `json:"reqID,omitempty"`
	IfID     int    `json:"ifID,omitempty"`
	Priority int    `json:"priority,omitempty"`
	States   bool   `json:"states,omitempty"`
}

// CustomOVS marks what it has in Open vSwitch.
type CustomOVS struct {
	Socket   string   `json:"socket,omitempty"`
	Bridges  []string `json:"bridges,omitempty"`
	Ports    []string `json:"ports,omitempty"`
	Keys     []string `json:"keys,omitempty"`
	Tunnels  []string `json:"tunnels,omitempty"`
	Datapath string   `json:"datapath,omitempty"`
}

// CustomValue marks a kernel parameter that it writes at run time.
type CustomValue struct {
	Key     string `json:"key"`
	Wrote   string `json:"wrote"`
	Default string `json:"default"`
}

// CustomLine marks a line in a file of others.
type CustomLine struct {
	File string `json:"file"`
	Line string `json:"line"`
}
