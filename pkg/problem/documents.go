package problem

// The errors of documents and their fields.
const (
	DocumentEncoding  ID = "document-encoding"
	DocumentBounds    ID = "document-bounds"
	DocumentMissing   ID = "document-missing"
	DocumentNotRead   ID = "document-not-read"
	DocumentHeader    ID = "document-header"
	YAMLSyntax        ID = "yaml-syntax"
	YAMLTemplate      ID = "yaml-template"
	YAMLConflict      ID = "yaml-merge-conflict"
	YAMLIndentation   ID = "yaml-indentation"
	YAMLUnsupported   ID = "yaml-unsupported"
	FieldTwice        ID = "field-twice"
	FieldUnknown      ID = "field-unknown"
	FieldEmpty        ID = "field-empty"
	FieldType         ID = "field-type"
	FieldValue        ID = "field-value"
	FieldMissing      ID = "field-missing"
	FieldNewer        ID = "field-newer"
	FieldNodeup       ID = "field-left-to-nodeup"
	FieldsConflict    ID = "fields-together"
	NetworkChoice     ID = "network-choice"
	AddressRanges     ID = "address-ranges"
	BridgeNodes       ID = "bridge-nodes"
	NodeGroupUnknown  ID = "node-group"
	CertificateFields ID = "certificate-fields"
	Reserved          ID = "reserved"
	StoreFile         ID = "store-file"
)

var documents = []Row{
	{ID: DocumentEncoding, Means: "The file is not text in UTF-8, or has a control character in it.",
		Do: "Save it as UTF-8. Put binary content into the store below `files/`, or into the document as base64."},
	{ID: DocumentBounds, Means: "The document is larger, deeper or longer than any document needs to be.",
		Do:   "Take out what is too much. Large files go into the store below `files/` or `assets/`.",
		Page: "documents.md"},
	{ID: DocumentMissing, Means: "The store has no cluster.yaml, or it gives a document twice.",
		Do: "Look whether the path of the store and the name of the cluster are right: " +
			"`<store>/<cluster>/cluster.yaml` must be there.", Page: "state-store.md"},
	{ID: DocumentNotRead, Warning: true,
		Means: "A file in the store looks like a document, but is not where documents are.",
		Do:    "Move it to the place that the message names, or out of the store.", Page: "state-store.md"},
	{ID: DocumentHeader,
		Means: "`apiVersion`, `kind` or `metadata.name` is missing or not what the file's place asks " +
			"for.",
		Do: "Write what the message expects. The name of a cluster, a group and a node is the name of its " +
			"directory or file.", Page: "documents.md"},
	{ID: YAMLSyntax, Means: "The document is not valid YAML at this place, or shortly before it.",
		Do: "Look at the line and the one above it for a quote, a bracket or a colon too many or too few."},
	{ID: YAMLTemplate, Means: "The document is a template: it holds `{{ … }}` outside of quotes.",
		Do: "Render it first, and put the result into the store."},
	{ID: YAMLConflict, Means: "The document holds the markers of a merge conflict.",
		Do: "Choose one side, and remove all three marker lines."},
	{ID: YAMLIndentation, Means: "A line is indented by a tab, by a no-break space, or by more or fewer " +
		"spaces than its neighbours.", Do: "Indent it with as many spaces as the lines of the same mapping."},
	{ID: YAMLUnsupported, Means: "The document uses a part of YAML that is not read: a directive, a tag, a key that " +
		"is no string, a second document.", Do: "Write the value in plain YAML, and one document in each file."},
	{ID: FieldTwice, Means: "A mapping has the same key twice.",
		Do: "Take one of them out: the message names the line of the other."},
	{ID: FieldUnknown, Means: "There is no such field in this place.",
		Do: "Correct its name or its indentation. Documents of kOps may have fields that are not read, but not below " +
			"`spec.networking`.", Page: "reference/documents.md"},
	{ID: FieldEmpty, Means: "A field has no value.",
		Do: "Give it a value. An empty mapping is `{}`, an empty list `[]`.", Page: "reference/documents.md"},
	{ID: FieldType, Means: "A value is of another kind than the field takes: a list, a mapping, a string, a number.",
		Do: "Write it as the message expects.", Page: "reference/documents.md"},
	{ID: FieldValue, Means: "A value is of the right kind, but the field does not accept it.",
		Do: "Write one that the message expects.", Page: "reference/documents.md"},
	{ID: FieldMissing, Means: "A required field is missing.", Do: "Add it.", Page: "reference/documents.md"},
	{ID: FieldNewer, Warning: true,
		Means: "Agents of earlier releases do not know the field, and refuse the document for it.",
		Do:    "Upgrade all nodes that read this store first."},
	{ID: FieldNodeup, Means: "Documents of kOps have fields that nodeup acts on and the agent ignores.",
		Do: "This is a note. Where nodeup no longer runs, set what these fields say by other means.", Page: "kops.md"},
	{ID: FieldsConflict, Means: "Two values, each right by itself, do not go together.",
		Do: "Change one of them: the message names both.", Page: "documents.md"},
	{ID: NetworkChoice, Means: "The documents name no network for this node, or more than one.",
		Do: "Set exactly one below `spec.networking`.", Page: "networks/README.md"},
	{ID: AddressRanges, Means: "Ranges of pods, services or nodes overlap, are not of the same families, or are not " +
		"within one another where they must be.",
		Do:   "Choose ranges that are apart. Those of a running cluster cannot be changed in place.",
		Page: "documents.md"},
	{ID: BridgeNodes, Means: "The documents contradict each other about the nodes that route pods to each other.",
		Do:   "Correct the node's document: its address and its pod ranges belong to no other node.",
		Page: "networks/bridge.md"},
	{ID: NodeGroupUnknown, Means: "There is no such node group, or the node's document and the agent disagree about " +
		"it.", Do: "Correct the name, or write `nodegroups/<name>.yaml`.", Page: "documents.md"},
	{ID: CertificateFields, Means: "What `spec.certificates` asks for cannot be issued or installed.",
		Do: "Correct the entry that the message names.", Page: "certificates.md"},
	{ID: Reserved,
		Means: "A file or a hook of the documents has the place or the name of something that the agent or " +
			"the node cannot do without.",
		Do:   "Give it another path or name. On a node this one file or hook fails, and all others are made.",
		Page: "security.md"},
	{ID: StoreFile, Means: "A document names a file of the store that is not there, or not what it says.",
		Do: "Put the file there, or correct the name.", Page: "state-store.md"},
}
