// Made with pbjs of protobufjs-cli 2.7.1: pbjs -t static-module -w es6 --es6 --no-create --no-verify --no-convert --no-delimited --no-service
/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-mixed-operators, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars, default-case, jsdoc/require-param*/
import $protobuf from "protobufjs/minimal.js";

// Common aliases
const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;
const $Object = $util.global.Object, $undefined = $util.global.undefined, $Error = $util.global.Error, $RangeError = $util.global.RangeError;

// Exported root namespace
const $root = $protobuf.roots["default"] || ($protobuf.roots["default"] = {});

export const bench = $root.bench = (() => {

    /**
     * Namespace bench.
     * @exports bench
     * @namespace
     */
    const bench = {};

    bench.v1 = (function() {

        /**
         * Namespace v1.
         * @memberof bench
         * @namespace
         */
        const v1 = {};

        v1.Small = (function() {

            /**
             * Properties of a Small.
             * @typedef {Object} bench.v1.Small.$Properties
             * @property {string|null} [text] Small text
             * @property {number|null} [n] Small n
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a Small.
             * @memberof bench.v1
             * @interface ISmall
             * @augments bench.v1.Small.$Properties
             * @deprecated Use bench.v1.Small.$Properties instead.
             */

            /**
             * Shape of a Small.
             * @typedef {bench.v1.Small.$Properties} bench.v1.Small.$Shape
             */

            /**
             * Constructs a new Small.
             * @memberof bench.v1
             * @classdesc Represents a Small.
             * @constructor
             * @param {bench.v1.Small.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Small = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Small text.
             * @member {string} text
             * @memberof bench.v1.Small
             * @instance
             */
            Small.prototype.text = "";

            /**
             * Small n.
             * @member {number} n
             * @memberof bench.v1.Small
             * @instance
             */
            Small.prototype.n = 0;

            /**
             * Encodes the specified Small message. Does not implicitly {@link bench.v1.Small.verify|verify} messages.
             * @function encode
             * @memberof bench.v1.Small
             * @static
             * @param {bench.v1.Small.$Properties} message Small message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Small.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.text != null && $Object.hasOwnProperty.call(message, "text") && message.text !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.text);
                if (message.n != null && $Object.hasOwnProperty.call(message, "n") && message.n !== 0)
                    writer.uint32(/* id 2, wireType 0 =*/16).int32(message.n);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a Small message from the specified reader or buffer.
             * @function decode
             * @memberof bench.v1.Small
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {bench.v1.Small & bench.v1.Small.$Shape} Small
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Small.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.bench.v1.Small();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.text = value;
                            else
                                delete message.text;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.n = value;
                            else
                                delete message.n;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Small
             * @function getTypeUrl
             * @memberof bench.v1.Small
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Small.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/bench.v1.Small";
            };

            return Small;
        })();

        v1.Medium = (function() {

            /**
             * Properties of a Medium.
             * @typedef {Object} bench.v1.Medium.$Properties
             * @property {string|null} [id] Medium id
             * @property {string|null} [title] Medium title
             * @property {bench.v1.Status|null} [status] Medium status
             * @property {number|Long|null} [createdMs] Medium createdMs
             * @property {number|null} [price] Medium price
             * @property {boolean|null} [done] Medium done
             * @property {bench.v1.Person.$Properties|null} [owner] Medium owner
             * @property {Array.<string>|null} [tags] Medium tags
             * @property {Object.<string,number>|null} [counts] Medium counts
             * @property {Array.<bench.v1.Line.$Properties>|null} [lines] Medium lines
             * @property {string|null} [url] Medium url
             * @property {number|null} [room] Medium room
             * @property {string|null} [note] Medium note
             * @property {"url"|"room"} [target] Medium target
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a Medium.
             * @memberof bench.v1
             * @interface IMedium
             * @augments bench.v1.Medium.$Properties
             * @deprecated Use bench.v1.Medium.$Properties instead.
             */

            /**
             * Narrowed shape of a Medium.
             * @typedef {{
             *   id?: string|null;
             *   title?: string|null;
             *   status?: bench.v1.Status|null;
             *   createdMs?: number|Long|null;
             *   price?: number|null;
             *   done?: boolean|null;
             *   owner?: bench.v1.Person.$Shape|null;
             *   tags?: Array.<string>|null;
             *   counts?: Object.<string,number>|null;
             *   lines?: Array.<bench.v1.Line.$Shape>|null;
             *   url?: string|null;
             *   room?: number|null;
             *   note?: string|null;
             *   $unknowns?: Array.<Uint8Array>;
             * } & (
             *   ({ target?: undefined; url?: null; room?: null }|{ target?: "url"; url: string; room?: null }|{ target?: "room"; url?: null; room: number })
             * )} bench.v1.Medium.$Shape
             */

            /**
             * Constructs a new Medium.
             * @memberof bench.v1
             * @classdesc Represents a Medium.
             * @constructor
             * @param {bench.v1.Medium.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Medium = function (properties) {
                this.tags = [];
                this.counts = {};
                this.lines = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Medium id.
             * @member {string} id
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.id = "";

            /**
             * Medium title.
             * @member {string} title
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.title = "";

            /**
             * Medium status.
             * @member {bench.v1.Status} status
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.status = 0;

            /**
             * Medium createdMs.
             * @member {number|Long} createdMs
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.createdMs = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

            /**
             * Medium price.
             * @member {number} price
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.price = 0;

            /**
             * Medium done.
             * @member {boolean} done
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.done = false;

            /**
             * Medium owner.
             * @member {bench.v1.Person.$Properties|null|undefined} owner
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.owner = null;

            /**
             * Medium tags.
             * @member {Array.<string>} tags
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.tags = $util.emptyArray;

            /**
             * Medium counts.
             * @member {Object.<string,number>} counts
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.counts = $util.emptyObject;

            /**
             * Medium lines.
             * @member {Array.<bench.v1.Line.$Properties>} lines
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.lines = $util.emptyArray;

            /**
             * Medium url.
             * @member {string|null|undefined} url
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.url = null;

            /**
             * Medium room.
             * @member {number|null|undefined} room
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.room = null;

            /**
             * Medium note.
             * @member {string|null|undefined} note
             * @memberof bench.v1.Medium
             * @instance
             */
            Medium.prototype.note = null;

            // OneOf field names bound to virtual getters and setters
            let $oneOfFields;

            /**
             * Medium target.
             * @member {"url"|"room"|undefined} target
             * @memberof bench.v1.Medium
             * @instance
             */
            $Object.defineProperty(Medium.prototype, "target", {
                get: $util.oneOfGetter($oneOfFields = ["url", "room"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Medium.prototype, "_note", {
                get: $util.oneOfGetter($oneOfFields = ["note"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            /**
             * Encodes the specified Medium message. Does not implicitly {@link bench.v1.Medium.verify|verify} messages.
             * @function encode
             * @memberof bench.v1.Medium
             * @static
             * @param {bench.v1.Medium.$Properties} message Medium message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Medium.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.id != null && $Object.hasOwnProperty.call(message, "id") && message.id !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.id);
                if (message.title != null && $Object.hasOwnProperty.call(message, "title") && message.title !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.title);
                if (message.status != null && $Object.hasOwnProperty.call(message, "status") && message.status !== 0)
                    writer.uint32(/* id 3, wireType 0 =*/24).int32(message.status);
                if (message.createdMs != null && $Object.hasOwnProperty.call(message, "createdMs") && (typeof message.createdMs === "object" ? message.createdMs.low || message.createdMs.high : message.createdMs !== 0))
                    writer.uint32(/* id 4, wireType 0 =*/32).int64(message.createdMs);
                if (message.price != null && $Object.hasOwnProperty.call(message, "price") && !$Object.is(message.price, 0))
                    writer.uint32(/* id 5, wireType 1 =*/41).double(message.price);
                if (message.done != null && $Object.hasOwnProperty.call(message, "done") && message.done !== false)
                    writer.uint32(/* id 6, wireType 0 =*/48).bool(message.done);
                if (message.owner != null && $Object.hasOwnProperty.call(message, "owner"))
                    $root.bench.v1.Person.encode(message.owner, writer.uint32(/* id 7, wireType 2 =*/58).fork(), _depth + 1).ldelim();
                if (message.tags != null && message.tags.length)
                    for (let i = 0; i < message.tags.length; ++i)
                        writer.uint32(/* id 8, wireType 2 =*/66).string(message.tags[i]);
                if (message.counts != null && $Object.hasOwnProperty.call(message, "counts"))
                    for (let keys = $Object.keys(message.counts), i = 0; i < keys.length; ++i)
                        writer.uint32(/* id 9, wireType 2 =*/74).fork().uint32(/* id 1, wireType 2 =*/10).string(keys[i]).uint32(/* id 2, wireType 0 =*/16).int32(message.counts[keys[i]]).ldelim();
                if (message.lines != null && message.lines.length)
                    for (let i = 0; i < message.lines.length; ++i)
                        $root.bench.v1.Line.encode(message.lines[i], writer.uint32(/* id 10, wireType 2 =*/82).fork(), _depth + 1).ldelim();
                if (message.url != null && $Object.hasOwnProperty.call(message, "url"))
                    writer.uint32(/* id 11, wireType 2 =*/90).string(message.url);
                if (message.room != null && $Object.hasOwnProperty.call(message, "room"))
                    writer.uint32(/* id 12, wireType 0 =*/96).int32(message.room);
                if (message.note != null && $Object.hasOwnProperty.call(message, "note"))
                    writer.uint32(/* id 13, wireType 2 =*/106).string(message.note);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a Medium message from the specified reader or buffer.
             * @function decode
             * @memberof bench.v1.Medium
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {bench.v1.Medium & bench.v1.Medium.$Shape} Medium
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Medium.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, key, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.bench.v1.Medium();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.id = value;
                            else
                                delete message.id;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.title = value;
                            else
                                delete message.title;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.status = value;
                            else
                                delete message.status;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.int64()) === "object" ? value.low || value.high : value !== 0)
                                message.createdMs = value;
                            else
                                delete message.createdMs;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 1)
                                break;
                            if (!$Object.is(value = reader.double(), 0))
                                message.price = value;
                            else
                                delete message.price;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.done = value;
                            else
                                delete message.done;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            message.owner = $root.bench.v1.Person.decode(reader, reader.size(), $undefined, _depth + 1, message.owner);
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            if (!(message.tags && message.tags.length))
                                message.tags = [];
                            message.tags.push(reader.stringVerify());
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if (message.counts === $util.emptyObject)
                                message.counts = {};
                            let end2 = reader.size() + reader.pos;
                            if (end2 > reader.len)
                                throw $RangeError("index out of range");
                            reader.len = end2;
                            key = "";
                            value = 0;
                            while (reader.pos < end2) {
                                let tag2 = reader.tag();
                                wireType = tag2 & 7;
                                switch (tag2 >>>= 3) {
                                case 1:
                                    if (wireType !== 2)
                                        break;
                                    key = reader.stringVerify();
                                    continue;
                                case 2:
                                    if (wireType !== 0)
                                        break;
                                    value = reader.int32();
                                    continue;
                                }
                                reader.skipType(wireType, _depth, tag2);
                            }
                            if (reader.pos !== end2)
                                throw $RangeError("index out of range");
                            reader.len = end;
                            if (key === "__proto__")
                                $util.makeProp(message.counts, key);
                            message.counts[key] = value;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 2)
                                break;
                            if (!(message.lines && message.lines.length))
                                message.lines = [];
                            message.lines.push($root.bench.v1.Line.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 11: {
                            if (wireType !== 2)
                                break;
                            message.url = reader.stringVerify();
                            message.target = "url";
                            continue;
                        }
                    case 12: {
                            if (wireType !== 0)
                                break;
                            message.room = reader.int32();
                            message.target = "room";
                            continue;
                        }
                    case 13: {
                            if (wireType !== 2)
                                break;
                            message.note = reader.stringVerify();
                            message._note = "note";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Medium
             * @function getTypeUrl
             * @memberof bench.v1.Medium
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Medium.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/bench.v1.Medium";
            };

            return Medium;
        })();

        v1.Person = (function() {

            /**
             * Properties of a Person.
             * @typedef {Object} bench.v1.Person.$Properties
             * @property {string|null} [name] Person name
             * @property {string|null} [email] Person email
             * @property {number|null} [age] Person age
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a Person.
             * @memberof bench.v1
             * @interface IPerson
             * @augments bench.v1.Person.$Properties
             * @deprecated Use bench.v1.Person.$Properties instead.
             */

            /**
             * Shape of a Person.
             * @typedef {bench.v1.Person.$Properties} bench.v1.Person.$Shape
             */

            /**
             * Constructs a new Person.
             * @memberof bench.v1
             * @classdesc Represents a Person.
             * @constructor
             * @param {bench.v1.Person.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Person = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Person name.
             * @member {string} name
             * @memberof bench.v1.Person
             * @instance
             */
            Person.prototype.name = "";

            /**
             * Person email.
             * @member {string} email
             * @memberof bench.v1.Person
             * @instance
             */
            Person.prototype.email = "";

            /**
             * Person age.
             * @member {number} age
             * @memberof bench.v1.Person
             * @instance
             */
            Person.prototype.age = 0;

            /**
             * Encodes the specified Person message. Does not implicitly {@link bench.v1.Person.verify|verify} messages.
             * @function encode
             * @memberof bench.v1.Person
             * @static
             * @param {bench.v1.Person.$Properties} message Person message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Person.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.name != null && $Object.hasOwnProperty.call(message, "name") && message.name !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.name);
                if (message.email != null && $Object.hasOwnProperty.call(message, "email") && message.email !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.email);
                if (message.age != null && $Object.hasOwnProperty.call(message, "age") && message.age !== 0)
                    writer.uint32(/* id 3, wireType 0 =*/24).uint32(message.age);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a Person message from the specified reader or buffer.
             * @function decode
             * @memberof bench.v1.Person
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {bench.v1.Person & bench.v1.Person.$Shape} Person
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Person.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.bench.v1.Person();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.name = value;
                            else
                                delete message.name;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.email = value;
                            else
                                delete message.email;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.age = value;
                            else
                                delete message.age;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Person
             * @function getTypeUrl
             * @memberof bench.v1.Person
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Person.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/bench.v1.Person";
            };

            return Person;
        })();

        v1.Line = (function() {

            /**
             * Properties of a Line.
             * @typedef {Object} bench.v1.Line.$Properties
             * @property {string|null} [sku] Line sku
             * @property {number|null} [quantity] Line quantity
             * @property {number|null} [weight] Line weight
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a Line.
             * @memberof bench.v1
             * @interface ILine
             * @augments bench.v1.Line.$Properties
             * @deprecated Use bench.v1.Line.$Properties instead.
             */

            /**
             * Shape of a Line.
             * @typedef {bench.v1.Line.$Properties} bench.v1.Line.$Shape
             */

            /**
             * Constructs a new Line.
             * @memberof bench.v1
             * @classdesc Represents a Line.
             * @constructor
             * @param {bench.v1.Line.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Line = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Line sku.
             * @member {string} sku
             * @memberof bench.v1.Line
             * @instance
             */
            Line.prototype.sku = "";

            /**
             * Line quantity.
             * @member {number} quantity
             * @memberof bench.v1.Line
             * @instance
             */
            Line.prototype.quantity = 0;

            /**
             * Line weight.
             * @member {number} weight
             * @memberof bench.v1.Line
             * @instance
             */
            Line.prototype.weight = 0;

            /**
             * Encodes the specified Line message. Does not implicitly {@link bench.v1.Line.verify|verify} messages.
             * @function encode
             * @memberof bench.v1.Line
             * @static
             * @param {bench.v1.Line.$Properties} message Line message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Line.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.sku != null && $Object.hasOwnProperty.call(message, "sku") && message.sku !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.sku);
                if (message.quantity != null && $Object.hasOwnProperty.call(message, "quantity") && message.quantity !== 0)
                    writer.uint32(/* id 2, wireType 0 =*/16).int32(message.quantity);
                if (message.weight != null && $Object.hasOwnProperty.call(message, "weight") && !$Object.is(message.weight, 0))
                    writer.uint32(/* id 3, wireType 5 =*/29).float(message.weight);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a Line message from the specified reader or buffer.
             * @function decode
             * @memberof bench.v1.Line
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {bench.v1.Line & bench.v1.Line.$Shape} Line
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Line.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.bench.v1.Line();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.sku = value;
                            else
                                delete message.sku;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.quantity = value;
                            else
                                delete message.quantity;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 5)
                                break;
                            if (!$Object.is(value = reader.float(), 0))
                                message.weight = value;
                            else
                                delete message.weight;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Line
             * @function getTypeUrl
             * @memberof bench.v1.Line
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Line.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/bench.v1.Line";
            };

            return Line;
        })();

        v1.Large = (function() {

            /**
             * Properties of a Large.
             * @typedef {Object} bench.v1.Large.$Properties
             * @property {Array.<bench.v1.Medium.$Properties>|null} [items] Large items
             * @property {number|Long|null} [total] Large total
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a Large.
             * @memberof bench.v1
             * @interface ILarge
             * @augments bench.v1.Large.$Properties
             * @deprecated Use bench.v1.Large.$Properties instead.
             */

            /**
             * Shape of a Large.
             * @typedef {{
             *   items?: Array.<bench.v1.Medium.$Shape>|null;
             *   total?: number|Long|null;
             *   $unknowns?: Array.<Uint8Array>;
             * }} bench.v1.Large.$Shape
             */

            /**
             * Constructs a new Large.
             * @memberof bench.v1
             * @classdesc Represents a Large.
             * @constructor
             * @param {bench.v1.Large.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Large = function (properties) {
                this.items = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Large items.
             * @member {Array.<bench.v1.Medium.$Properties>} items
             * @memberof bench.v1.Large
             * @instance
             */
            Large.prototype.items = $util.emptyArray;

            /**
             * Large total.
             * @member {number|Long} total
             * @memberof bench.v1.Large
             * @instance
             */
            Large.prototype.total = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Encodes the specified Large message. Does not implicitly {@link bench.v1.Large.verify|verify} messages.
             * @function encode
             * @memberof bench.v1.Large
             * @static
             * @param {bench.v1.Large.$Properties} message Large message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Large.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.items != null && message.items.length)
                    for (let i = 0; i < message.items.length; ++i)
                        $root.bench.v1.Medium.encode(message.items[i], writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                if (message.total != null && $Object.hasOwnProperty.call(message, "total") && (typeof message.total === "object" ? message.total.low || message.total.high : message.total !== 0))
                    writer.uint32(/* id 2, wireType 0 =*/16).uint64(message.total);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a Large message from the specified reader or buffer.
             * @function decode
             * @memberof bench.v1.Large
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {bench.v1.Large & bench.v1.Large.$Shape} Large
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Large.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.bench.v1.Large();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if (!(message.items && message.items.length))
                                message.items = [];
                            message.items.push($root.bench.v1.Medium.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.total = value;
                            else
                                delete message.total;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Large
             * @function getTypeUrl
             * @memberof bench.v1.Large
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Large.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/bench.v1.Large";
            };

            return Large;
        })();

        /**
         * Status enum.
         * @name bench.v1.Status
         * @enum {number}
         * @property {number} STATUS_UNSPECIFIED=0 STATUS_UNSPECIFIED value
         * @property {number} STATUS_OPEN=1 STATUS_OPEN value
         * @property {number} STATUS_CLOSED=2 STATUS_CLOSED value
         */
        v1.Status = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "STATUS_UNSPECIFIED"] = 0;
            values[valuesById[1] = "STATUS_OPEN"] = 1;
            values[valuesById[2] = "STATUS_CLOSED"] = 2;
            return values;
        })();

        return v1;
    })();

    return bench;
})();

export {
  $root as default
};
