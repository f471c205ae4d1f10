package problem

// The errors of keys, signatures and generations.
const (
	KeyWrong           ID = "key-wrong"
	SignatureMissing   ID = "signature-missing"
	SignatureUntrusted ID = "signature-untrusted"
	PinDiffers         ID = "pin-differs"
	GenerationOlder    ID = "generation-older"
	GenerationJump     ID = "generation-jump"
	GenerationExpired  ID = "generation-expired"
)

var trusted = []Row{
	{ID: KeyWrong, Means: "A key for signatures cannot be read, or is not valid.",
		Do:   "Name the `.key` file to sign and the `.pub` file to verify; `agent store keygen` makes both.",
		Page: "state-store.md"},
	{ID: SignatureMissing, Means: "The manifest is not signed, and the agent's file allows no unsigned " +
		"manifest.", Do: "Publish with `--key`, or set `pin` or `insecureUnsigned` in the agent's file.",
		Page: "security.md"},
	{ID: SignatureUntrusted, Means: "No key that the agent trusts has signed the manifest.",
		Do:   "Find out who published. If it was right, sign with a trusted key, or list the key in `trustedKeys`.",
		Page: "security.md"},
	{ID: PinDiffers, Means: "The manifest has another sha256 than `pin` says.",
		Do: "Correct `pin`, or find out who published.", Page: "security.md"},
	{ID: GenerationOlder, Means: "The store has an older generation than this node has seen.",
		Do: "Look whether a cache in front of the store has kept it, or find out who restored it. If that was intended: " +
			"`agent --once --accept-older-generation`.", Page: "security.md"},
	{ID: GenerationJump, Means: "The number of the generation is too far ahead of the last one.",
		Do: "Find out who published it; publish a generation that follows the last one.", Page: "security.md"},
	{ID: GenerationExpired, Means: "The publication has expired.",
		Do: "Publish again; `--expires` sets how long a publication is valid.", Page: "state-store.md"},
}
