#!/usr/bin/env node
/** The command that buf and protoc run: a request on stdin, the files on stdout, faults on stderr and exit 1. */
import { runNodeJs } from "@bufbuild/protoplugin";
import { plugin } from "./plugin.ts";

runNodeJs(plugin);
