// Makes a cluster with the client that openapi-generator has generated, reads it and deletes it.
// STEELYARD_URL and STEELYARD_TOKEN name the Steelyard; the argument names the cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"example.com/steelyard/client"
)

func demand(isTrue bool, format string, values ...any) {
	if isTrue {
		return
	}
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

// patient repeats a request that a busy Steelyard has refused: it has changed nothing.
type patient struct{}

func (patient) RoundTrip(request *http.Request) (*http.Response, error) {
	for {
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusServiceUnavailable {
			return response, err
		}
		response.Body.Close()
		time.Sleep(2 * time.Second)
		if request.GetBody != nil {
			if request.Body, err = request.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

func wait(ctx context.Context, api *client.APIClient, id string) {
	for {
		operation, _, err := api.OperationsAPI.OperationGet(ctx, id).Execute()
		demand(err == nil, "operationGet: %v", err)
		switch operation.GetStatus() {
		case "done":
			return
		case "failed", "cancelled":
			demand(false, "operation %s is %s", id, operation.GetStatus())
		}
		time.Sleep(500 * time.Millisecond)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("STEELYARD_URL")}}
	configuration.HTTPClient = &http.Client{Transport: patient{}}
	configuration.AddDefaultHeader("Authorization", "Bearer "+os.Getenv("STEELYARD_TOKEN"))
	api := client.NewAPIClient(configuration)

	list, _, err := api.NodesAPI.ServerList(ctx).Eligible("true").Execute()
	demand(err == nil && list.ServerList200ResponseAnyOf != nil, "serverList: %v", err)
	servers := list.ServerList200ResponseAnyOf.GetItems()
	demand(len(servers) > 0, "no free server")
	first := servers[0]
	datacenter, talos := first.GetDatacenter(), first.GetTalos()

	name := os.Args[1]
	body := client.NewClusterCreate(name, datacenter.GetId(), []client.ClusterServer{
		*client.NewClusterServer(first.GetId(), "control_plane"),
	})
	body.SetTalosVersion(talos.GetVersion())
	created, _, err := api.ClustersAPI.ClusterCreate(ctx).ClusterCreate(*body).Execute()
	demand(err == nil, "clusterCreate: %v", err)
	id := created.Cluster.GetId()
	wait(ctx, api, created.Operation.GetId())

	read, _, err := api.ClustersAPI.ClusterGet(ctx, id).Execute()
	demand(err == nil && read.GetName() == name, "clusterGet: %v", err)
	kubeconfig, err := api.ClustersAPI.ClusterKubeconfig(ctx, id).Execute()
	demand(err == nil, "clusterKubeconfig: %v", err)
	text, err := io.ReadAll(kubeconfig.Body)
	demand(err == nil && len(text) > 0, "the kubeconfig is empty: %v", err)

	_, _, err = api.ClustersAPI.ClusterGet(ctx, "00000000-0000-4000-8000-000000000000").Execute()
	var failed *client.GenericOpenAPIError
	demand(errors.As(err, &failed), "an error: %v", err)
	model, isError := failed.Model().(client.Error)
	demand(isError && model.GetCode() == "not_found", "an error: %v %s", failed.Model(), failed.Body())

	deleted, _, err := api.ClustersAPI.ClusterDelete(ctx, id).Execute()
	demand(err == nil, "clusterDelete: %v", err)
	wait(ctx, api, deleted.Operation.GetId())
	fmt.Println("made, read and deleted " + name)
}
