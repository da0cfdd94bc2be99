// Command v1.14 answers the conformance cases with the code of Talos v1.14.1: go run . CASES ANSWERS.
package main

import "steelyard/conformance/talos"

func main() { talos.Main("v1.14.1") }
