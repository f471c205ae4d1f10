package graph

import _ "fmt"
