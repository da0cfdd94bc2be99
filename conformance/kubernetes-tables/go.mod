module kubernetes-tables

go 1.24
