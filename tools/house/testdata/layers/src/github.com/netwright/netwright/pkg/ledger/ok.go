package ledger

import _ "fmt"
