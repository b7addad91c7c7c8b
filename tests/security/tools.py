"""What Python programs do with processes, under the payload filter (tools.bats). Prints a line for each thing that works."""

import asyncio
import concurrent.futures
import multiprocessing
import os
import socket
import subprocess
import threading
from multiprocessing import shared_memory


def square(x):
    return x * x


def tell(pipe):
    pipe.send("told")
    pipe.close()


async def asynchronous():
    process = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate(b"asyncio exec")
    print(output.decode())
    process = await asyncio.create_subprocess_shell("exit 3")
    print("asyncio shell", await process.wait())
    print("asyncio thread", await asyncio.to_thread(square, 2))


def with_processes():
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=tell, args=(theirs,))
    process.start()
    print("multiprocessing pipe", ours.recv())
    process.join()
    with multiprocessing.Pool(2) as pool:
        print("multiprocessing pool", pool.map(square, [1, 2, 3]))
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print("futures", list(pool.map(square, [1, 2, 3])))
    queue = multiprocessing.Queue()
    queue.put("queued")
    print("multiprocessing queue", queue.get())
    process = multiprocessing.get_context("spawn").Process(target=print, args=("multiprocessing spawn",))
    process.start()
    process.join()


def refused(family):
    try:
        socket.socket(family)
    except PermissionError:
        return "refused"
    return "there"


if __name__ == "__main__":
    print("subprocess", subprocess.check_output(["echo", "works"], text=True).strip(), subprocess.getoutput("echo too | cat"), flush=True)
    asyncio.run(asynchronous())
    with_processes()
    with multiprocessing.Lock():
        print("lock", multiprocessing.Value("i", 3).value)
    memory = shared_memory.SharedMemory(create=True, size=100)
    memory.close()
    memory.unlink()
    print("shared memory", len(os.sched_getaffinity(0)) > 0)
    thread = threading.Thread(target=print, args=("thread",))
    thread.start()
    thread.join()
    print("Unix sockets", refused(socket.AF_UNIX))
