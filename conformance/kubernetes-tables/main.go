// Command kubernetes-tables prints what each minor of Kubernetes knows: the feature gates of its
// programs, and the versions of APIs. It reads the source of Kubernetes's published modules.
//
//	go run . v1.32.13 v1.33.13 … > ../../talos/kubernetes/tables.json
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Folders with the feature gates that kube-apiserver, kube-controller-manager, kube-scheduler or
// kubelet register.
var gateFolders = []string{
	"kubernetes/pkg/features",
	"apiserver/pkg/features",
	"apiextensions-apiserver/pkg/features",
	"client-go/features",
	"cloud-provider/features",
	"component-base/featuregate",
	"component-base/logs",
	"component-base/metrics",
	"component-base/zpages",
	"controller-manager/pkg/features",
	"kube-aggregator/pkg/features",
}

// Folders with the versions of APIs that kube-apiserver serves or can serve.
var apiFolders = []string{
	"api",
	"apiextensions-apiserver/pkg/apis",
	"kube-aggregator/pkg/apis",
}

// Minor is what a minor knows more or less than the one before it.
type Minor struct {
	Source       string          `json:"source"`
	Gates        []string        `json:"gates"`
	RemovedGates []string        `json:"removedGates"`
	Locked       map[string]bool `json:"locked"`
	APIs         []string        `json:"apis"`
	RemovedAPIs  []string        `json:"removedApis"`
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// download returns the folder of a published module, such as "api", of Kubernetes's version.
func download(module, version string) string {
	if module != "kubernetes" {
		version = "v0." + strings.TrimPrefix(version, "v1.")
	}
	out, err := exec.Command("go", "mod", "download", "-json", "k8s.io/"+module+"@"+version).Output()
	if err != nil {
		check(fmt.Errorf("k8s.io/%s@%s: %w: %s", module, version, err, out))
	}
	var found struct{ Dir string }
	check(json.Unmarshal(out, &found))
	return found.Dir
}

// parse returns the Go files of a folder and of those in it, without tests.
func parse(folder, version string) map[string]*ast.File {
	module, inside, _ := strings.Cut(folder, "/")
	root := filepath.Join(download(module, version), inside)
	files := map[string]*ast.File{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") ||
			strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testing/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		files[path] = file
		return err
	})
	if !os.IsNotExist(err) {
		check(err)
	}
	return files
}

// constants adds the texts among the constants of a file by their names.
func constants(file *ast.File, to map[string]string) {
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok {
			for i, name := range spec.Names {
				if i < len(spec.Values) {
					if text, ok := literal(spec.Values[i]); ok {
						to[name.Name] = text
					}
				}
			}
		}
		return true
	})
}

// literal reads `"Text"`, and `Feature("Text")`.
func literal(node ast.Expr) (string, bool) {
	if call, ok := node.(*ast.CallExpr); ok && name(call.Fun) == "Feature" {
		node = call.Args[0]
	}
	if one, ok := node.(*ast.BasicLit); ok && one.Kind == token.STRING {
		text, err := strconv.Unquote(one.Value)
		return text, err == nil
	}
	return "", false
}

// name is the last part of `Name` and of `package.Name`.
func name(node ast.Expr) string {
	switch one := node.(type) {
	case *ast.Ident:
		return one.Name
	case *ast.SelectorExpr:
		return one.Sel.Name
	}
	return ""
}

// lockedTo is the only value of a gate's newest specification, or nil.
func lockedTo(spec ast.Expr) *bool {
	list := spec.(*ast.CompositeLit)
	for len(list.Elts) > 0 {
		newest, ok := list.Elts[len(list.Elts)-1].(*ast.CompositeLit)
		if !ok {
			break
		}
		list = newest
	}
	fields := map[string]string{}
	for _, element := range list.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			fields[name(pair.Key)] = name(pair.Value)
		}
	}
	if fields["LockToDefault"] != "true" {
		return nil
	}
	if fields["Default"] != "true" && fields["Default"] != "false" {
		check(fmt.Errorf("a locked gate without a plain default: %v", fields))
	}
	value := fields["Default"] == "true"
	return &value
}

// gatesOf returns the gates of a version, with the only value of those that are locked.
func gatesOf(version string) map[string]*bool {
	files := []*ast.File{}
	texts := map[string]string{}
	for _, folder := range gateFolders {
		for _, file := range parse(folder, version) {
			files = append(files, file)
			constants(file, texts)
		}
	}
	gates := map[string]*bool{}
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			list, ok := node.(*ast.CompositeLit)
			if !ok {
				return true
			}
			kind, ok := list.Type.(*ast.MapType)
			of := ""
			if ok {
				of = name(kind.Value)
			}
			if of != "FeatureSpec" && of != "VersionedSpecs" || name(kind.Key) != "Feature" {
				return true
			}
			for _, element := range list.Elts {
				pair := element.(*ast.KeyValueExpr)
				gate, ok := texts[name(pair.Key)]
				if !ok {
					check(fmt.Errorf("%s: no constant of the gate %s", version, name(pair.Key)))
				}
				gates[gate] = lockedTo(pair.Value)
			}
			return true
		})
	}
	return gates
}

// versionsOf returns the registered versions of APIs, such as "batch/v1".
func versionsOf(version string) map[string]bool {
	found := map[string]bool{}
	for _, folder := range apiFolders {
		for path, file := range parse(folder, version) {
			texts := map[string]string{}
			constants(file, texts)
			group, ok := texts["GroupName"]
			parent := filepath.Base(filepath.Dir(path))
			if filepath.Base(path) == "register.go" && ok && strings.HasPrefix(parent, "v") {
				found[strings.TrimPrefix(group+"/"+parent, "/")] = true
			}
		}
	}
	return found
}

// changes returns the sorted names that only `now` has, and those that only `before` has.
func changes[V any](before, now map[string]V) (added, removed []string) {
	added, removed = []string{}, []string{}
	for one := range now {
		if _, ok := before[one]; !ok {
			added = append(added, one)
		}
	}
	for one := range before {
		if _, ok := now[one]; !ok {
			removed = append(removed, one)
		}
	}
	slices.Sort(added)
	slices.Sort(removed)
	return added, removed
}

func main() {
	minors := map[string]Minor{}
	gates, apis := map[string]*bool{}, map[string]bool{}
	for _, version := range os.Args[1:] {
		nextGates, nextAPIs := gatesOf(version), versionsOf(version)
		minor := Minor{Source: version, Locked: map[string]bool{}}
		minor.Gates, minor.RemovedGates = changes(gates, nextGates)
		minor.APIs, minor.RemovedAPIs = changes(apis, nextAPIs)
		for gate, value := range nextGates {
			if value != nil && gates[gate] == nil {
				minor.Locked[gate] = *value
			}
			if value == nil && gates[gate] != nil {
				check(fmt.Errorf("%s unlocks %s: the table can't say this", version, gate))
			}
		}
		minors[strings.Split(version, ".")[1]] = minor
		gates, apis = nextGates, nextAPIs
	}
	out, err := json.Marshal(minors)
	check(err)
	fmt.Println(string(out))
}
