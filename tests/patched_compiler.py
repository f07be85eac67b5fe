"""The process that compiles kernels, with the patches that crash, hang and miscount."""

from tests.patch_worker import add_kinds
from tile2triton.compile_worker import compile_job
from tile2triton.ttgir import trial
from tile2triton.worker_loop import answer_questions

if __name__ == "__main__":
    add_kinds()
    trial.WORKER = "tests.patch_worker"
    answer_questions(compile_job)
