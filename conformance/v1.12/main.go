// Command v1.12 answers the conformance cases with the code of Talos v1.12.7: go run . CASES ANSWERS.
package main

import "steelyard/conformance/talos"

func main() { talos.Main("v1.12.7") }
