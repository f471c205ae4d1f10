package a

type text struct{ held *string }

type hidden []byte

type held struct {
	token      string   // want `field token shows what it holds`
	StoreToken *string  // want `field StoreToken shows what it holds`
	Password   []byte   // want `field Password shows what it holds`
	Secrets    []string // want `field Secrets shows what it holds`
	a, secret  string   // want `field secret shows what it holds`
	PrivateKey []byte   // want `field PrivateKey shows what it holds`
	Key        []byte   // want `field Key shows what it holds`
	clientKey  []byte   // want `field clientKey shows what it holds`
	deep       struct {
		privateMaterial string // want `field privateMaterial shows what it holds`
	}

	//nolint:house secrets the digest of a token, by which two are told apart
	lastToken string
}

type fine struct {
	Token     text
	Secret    bool
	Private   hidden
	TokenFile string
	Key       string // of a map
	tokens    float64
	keys      []string
}
