package model

import _ "fmt"
