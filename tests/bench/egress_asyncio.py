"""egress_asyncio.py PORT: a forward proxy as it is written in an afternoon, with asyncio streams. It checks nothing."""

import asyncio
import sys


async def pour(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.close()


async def serve(reader, writer):
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, _ = head.split("\r\n", 1)[0].split(" ")
        if method == "CONNECT":
            host, port = target.rsplit(":", 1)
            there_reader, there_writer = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 Connection Established\r\n\r\n")
        else:
            authority, _, path = target.removeprefix("http://").partition("/")
            host, _, port = authority.partition(":")
            there_reader, there_writer = await asyncio.open_connection(host, int(port or 80))
            there_writer.write(f"{method} /{path} HTTP/1.1\r\n{head.partition(chr(13) + chr(10))[2]}".encode("latin-1"))
        await asyncio.gather(pour(reader, there_writer), pour(there_reader, writer))
        there_writer.close()
    except (OSError, asyncio.IncompleteReadError):
        pass
    writer.close()


async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=2048) as server:
        await server.serve_forever()


asyncio.run(main())
